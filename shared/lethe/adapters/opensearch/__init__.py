"""The search index on OpenSearch: candidates inside one space, by meaning and by words, in one request.

Read top down: ``flavours`` says what each kind of OpenSearch can do, ``mapping`` what an index looks like,
``documents`` how a memory becomes an entry, ``filters`` how a search stays inside its space, ``questions`` what is
asked, ``engine`` how an answer is made of it. ``writer`` puts entries in and out; ``connection`` is the one way to the
cluster.

DynamoDB is the truth. The index only proposes; every hit is read again before it is answered.
"""
