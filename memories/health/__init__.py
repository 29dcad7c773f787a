"""How well a namespace works: what its traces tell, whether its index finds what is there, what it takes up."""
