"""The value types of the domain and their validation rules. No I/O and no state."""
