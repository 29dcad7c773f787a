"""Long work on a queue: started by a person, an agent or the clock, told of while it runs, and never done twice."""
