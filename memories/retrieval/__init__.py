"""From a query to an explained answer: reading, plan, retrievers, candidates, ranking, trace."""
