"""The transparency log: what was published, yanked and revoked, in an order nobody can change unseen.

A Merkle tree (RFC 6962, section 2.1) over the entries, kept in the same transactions as what they tell of. Its signed
checkpoints let a reader who has seen one check every later state against it, with the public key alone.
"""
