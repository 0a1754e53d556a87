"""What is odd in judgements and runs, and what it does to scores."""
