"""The explorer: a service that answers questions about one network over HTTP, and the page that asks them.

Questions are answered by processes that hold the network (`pool`, `worker_answers`), so that one that takes too long
can be ended. All that computes is the public interface, `import plefka as pf`.
"""
