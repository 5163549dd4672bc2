"""`skill-registry publish`: packages of authors, and what a registry makes of them."""
