"""The transparency log: an append-only record of what was published, yanked and revoked.

It is a Merkle tree (RFC 6962, section 2.1) over its entries, and each entry commits in the same transaction as the
change it records. A reader who has a signed checkpoint can check every later state against it with the public key.
"""
