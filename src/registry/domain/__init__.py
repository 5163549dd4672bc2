"""Values of the domain: types, rules and what they mean. No input, no output, no state."""
