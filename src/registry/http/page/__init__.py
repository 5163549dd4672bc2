"""The files of the page for people: how its modules are joined, and at which addresses browsers keep them."""
