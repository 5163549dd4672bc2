"""What the command says about itself: its help, the options of settings, and completion in shells."""
