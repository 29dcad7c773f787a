"""From a query to an explained answer: parse, plan, fetch, load candidates, rerank, rank, trace."""
