"""A server as commands see it: what is sent, how much of an answer is read, and what an answer must look like."""
