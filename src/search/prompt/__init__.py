"""Reading of prompts: what people and agents send is a request among greetings, pasted texts and names."""
