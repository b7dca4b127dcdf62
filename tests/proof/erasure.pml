/*
 * Erasure of one subject, for Spin: what no order of the steps of writers, of the indexer, of readers, of a legal hold,
 * of the eraser and of an admission may bring about. docs/erasure.md says in words what is proved here.
 *
 * One action of the model is one action of the stores: a consistent read, a conditional write, a transaction. STEP names
 * the function that takes it; a trail prints these names, and test_proof.py holds each of them against the code.
 *
 *   P1  No reader whose request began after an erasure was acknowledged is given anything of its epochs: nothing that
 *       was written under them, and nothing that was made of it.
 *   P2  When a receipt is written, nothing of its epochs is left in the tables or in the index, but for what a hold
 *       keeps, and nothing of them is written afterwards.
 *   P3  An erasure deletes nothing of an epoch that began after it was asked for.
 *   P4  The verification after the drain finds nothing, unless the deleting steps themselves were at fault.
 *   P5  What a hold covers is not deleted while the hold stands.
 *
 * Scenarios, each explored as a whole, since all at once is too much for a test:
 *
 *   (none)       a writer, and a request that keeps what it read; one erasure
 *   WRITERS=2    two writers that race for the first head; one erasure
 *   ERASURES=2   a writer, and two erasures that may overlap, with admissions in between
 *   HOLDS        a writer and a hold; one erasure
 *   FAULTS       a writer, and deleting steps that once leave something behind; one erasure
 *
 * What is taken out of the design, to see that the model finds the fault: NO_DRAIN, SHORT_DRAIN, LASTING_THREAD,
 * NO_EPOCH_IN_KEY, NO_SECOND_SWEEP, NO_VERIFY, FENCE_AFTER_DELETE, FENCE_AGAIN, SPACE_OPENED_AGAIN, MARK_UNCHECKED,
 * HOLDS_BEFORE_FENCE.
 */

#ifndef WRITERS
#define WRITERS 1
#endif
#ifndef ERASURES
#define ERASURES 1
#endif
#if WRITERS == 1 && ERASURES == 1 && !defined(HOLDS) && !defined(FAULTS)
#define KEEPS
#endif

#define STEP(name) printf(name)

/* A property is looked at where it could break. With ONLY=P2, say, the others are passed over. */
mtype = { P1, P2, P3, P4, P5 };
#ifdef ONLY
#define LOOKED_AT(property) (property == ONLY)
#else
#define LOOKED_AT(property) true
#endif
#define MUST(property, condition) \
  if :: (condition) || !LOOKED_AT(property) :: else -> printf("@violated %e\n", property); assert(false) fi

/* The head of the subject: one item, read consistently and changed under conditions. Epoch 0: there is none. */
mtype = { ACTIVE, ERASING, ERASED };
mtype state = ACTIVE;
byte epoch = 0;

/*
 * What stands. A row is an item of the data tables: bit 2 * (epoch - 1) + writer, where the epoch is the one under which
 * it was written. Entries are those of the index; a mark is the index's note of how far it has come, one an epoch.
 * An answer is what was kept of what a request read: by the epoch in its key, with the epoch of its content.
 */
byte rows = 0;
byte entries = 0;
byte marks = 0;
#ifdef KEEPS
byte answers[4] = 0;
#endif

/* The epoch that an invocation works under, since it read the head; 0 when there is none. Writers are 0 and 1. */
byte under[4] = 0;
#define KEEPER 2
#define INDEXER 3

/* Epochs up to this were acknowledged as erased; up to this a receipt was written. */
byte acknowledged = 0;
byte proved = 0;

#define ROW(w, e) (1 << (2 * ((e) - 1) + (w)))
#define ROWS_UPTO(e) ((1 << (2 * (e))) - 1)
#define MARK(e) (1 << ((e) - 1))
#define MARKS_UPTO(e) ((1 << (e)) - 1)

/* Where things lie: the partition of an epoch. Without the epoch in the key all of them are one. */
#ifdef NO_EPOCH_IN_KEY
#define KEY(e) 1
#define IN_PARTITION(e) 63
#define IN_PARTITIONS_UPTO(e) 63
#else
#define KEY(e) (e)
#define IN_PARTITION(e) (3 << (2 * ((e) - 1)))
#define IN_PARTITIONS_UPTO(e) ROWS_UPTO(e)
#endif

#ifdef HOLDS
/* The epoch in which a hold on the row of writer 0 was placed; 0 when it does not stand. */
byte hold = 0;
#define HELD(keep) (keep -> ROW(0, 1) | ROW(0, 2) | ROW(0, 3) : 0)
#define COVERED (hold > 0 -> ROW(0, hold) : 0)
#else
#define HELD(keep) 0
#define COVERED 0
#endif

#ifdef FAULTS
bit missed = 0;
#define MISSED missed
#else
#define MISSED 0
#endif

#ifdef FENCE_AGAIN
byte fenced_by = 0;
#endif

/*
 * A function that writes: remember, append, set, update, import, summarise, decay. Most writes share a transaction with
 * the head; sessions, large batches and what met another write at the head do not. It may end at any point: its time is
 * over, it crashed, or it was refused.
 */
proctype writer(byte me) {
endless:
  if
  :: atomic {
       epoch > 0 && state == ACTIVE ->
       STEP("@step lethe.services.spaces:Spaces.for_writing\n");
       under[me] = epoch
     }
  :: atomic {
       epoch == 0 ->
       STEP("@step lethe.adapters.dynamodb.heads:DynamoSubjectHeads.read\n");
       under[me] = 1 /* it has seen that there is no head; what it makes of that is the next action */
     }
     if
     :: atomic {
          epoch == 0 || state == ACTIVE ->
          STEP("@step lethe.adapters.dynamodb.heads:DynamoSubjectHeads.create\n");
          epoch = (epoch == 0 -> 1 : epoch);
          under[me] = epoch
        }
     :: atomic { under[me] = 0; goto endless }
     fi
  fi;
  if
  :: atomic {
       epoch == under[me] && state == ACTIVE ->
       STEP("@step lethe.adapters.dynamodb.heads:raise_within\n");
       rows = rows | ROW(me, under[me]);
       MUST(P2, under[me] > proved)
     }
  :: atomic {
       STEP("@step lethe.adapters.dynamodb.bulk:add_all\n");
       rows = rows | ROW(me, under[me]);
       MUST(P2, under[me] > proved)
     }
  :: true
  fi;
  under[me] = 0;
  goto endless
}

/*
 * A request that keeps what it read: an idempotent one its answer, a container its view, a summary what it sums up. It
 * opens the space, reads in the one that is open then, and keeps the result in the space that it opened.
 */
#ifdef KEEPS
proctype keeper() {
  byte content = 0;
endless:
  atomic {
    epoch > 0 && state == ACTIVE ->
    STEP("@step lethe.entry.idempotency:Idempotency.run\n");
    under[KEEPER] = epoch
  }
  if
  :: atomic {
       state == ACTIVE ->
       STEP("@step lethe.services.recall:Recall.recall\n");
       content = epoch
     }
  :: atomic { under[KEEPER] = 0; goto endless }
  fi;
#ifdef SPACE_OPENED_AGAIN
  if
  :: atomic {
       state == ACTIVE ->
       STEP("@step lethe.services.spaces:Spaces.for_reading\n");
       under[KEEPER] = epoch
     }
  :: atomic { under[KEEPER] = 0; content = 0; goto endless }
  fi;
#endif
  atomic {
    if
    :: answers[KEY(under[KEEPER])] == 0 ->
       STEP("@step lethe.adapters.dynamodb.idempotency:DynamoIdempotencyRecords.store\n");
       answers[KEY(under[KEEPER])] = content;
       MUST(P2, under[KEEPER] > proved && content > proved)
    :: true
    fi;
    under[KEEPER] = 0;
    content = 0
  }
  goto endless
}
#endif

/*
 * The indexer, at any hint of the stream: of any row, as often and in any order as it likes. It reads the head, then the
 * row, and puts the entry later; a repair of the index does the same. A hint of a space that cannot be read only removes,
 * which no property minds.
 */
proctype indexer() {
  byte w = 0;
endless:
#ifdef MARK_UNCHECKED
  if
  :: atomic {
       epoch > 0 ->
       STEP("@step lethe.services.indexing:_mark\n");
       if
       :: epoch > 1 -> marks = marks | MARK(epoch - 1); MUST(P2, epoch - 1 > proved)
       :: else
       fi;
       goto endless
     }
  :: true
  fi;
#endif
  atomic {
    epoch > 0 && state == ACTIVE ->
    STEP("@step lethe.services.indexing:Indexer._plan\n");
    under[INDEXER] = epoch;
    select(w : 0 .. WRITERS - 1)
  }
  if
  :: atomic {
       rows & ROW(w, under[INDEXER]) ->
       STEP("@step lethe.adapters.dynamodb.memories:DynamoMemories.get_many\n")
     }
     if
     :: atomic {
          STEP("@step lethe.adapters.opensearch.writer:OpenSearchWriter.apply\n");
          entries = entries | ROW(w, under[INDEXER]);
          MUST(P2, under[INDEXER] > proved)
        }
     :: true
     fi
  :: true
  fi;
  if
  :: atomic {
       STEP("@step lethe.services.indexing:_mark\n");
       marks = marks | MARK(under[INDEXER]);
       MUST(P2, under[INDEXER] > proved)
     }
  :: true
  fi;
  atomic { under[INDEXER] = 0; w = 0 }
  goto endless
}

/*
 * Recall, search, lists, and the repetition of an idempotent request: the head first, then what is asked of the space.
 * What the index proposes is read from the table again, so it adds nothing to what the table answers.
 */
proctype reader() {
  byte e = 0;
endless:
  do
  :: atomic {
       epoch > 0 && state == ACTIVE ->
       STEP("@step lethe.services.spaces:Spaces.for_reading\n");
       e = epoch;
       MUST(P1, e > acknowledged)
     }
     if
     :: atomic {
          STEP("@step lethe.adapters.scan_index:ScanIndex.search\n");
          MUST(P1, (rows & IN_PARTITION(e) & ROWS_UPTO(e - 1)) == 0)
        }
     :: atomic {
          STEP("@step lethe.adapters.opensearch.engine:OpenSearchIndex.search\n");
          MUST(P1, (entries & IN_PARTITION(e) & ROWS_UPTO(e - 1)) == 0)
        }
#ifdef KEEPS
     :: atomic {
          answers[KEY(e)] > 0 ->
          STEP("@step lethe.adapters.dynamodb.idempotency:DynamoIdempotencyRecords.answer\n");
          MUST(P1, answers[KEY(e)] >= e)
        }
#endif
     fi;
     e = 0
  od
}

/* At any moment after the fence. That the thirty days are over is the same. */
proctype admission() {
endless:
  do
  :: atomic {
       epoch > 0 && state != ACTIVE ->
       STEP("@step lethe.adapters.dynamodb.heads:DynamoSubjectHeads.admit\n");
       state = ACTIVE;
#ifdef FENCE_AGAIN
       fenced_by = 0
#endif
     }
  od
}

#ifdef HOLDS
proctype holder() {
endless:
  do
  :: atomic {
       epoch > 0 && state == ACTIVE && hold == 0 ->
       STEP("@step lethe.adapters.dynamodb.ledger:DynamoHolds.place\n");
       hold = epoch
     }
  :: atomic {
       hold > 0 ->
       STEP("@step lethe.adapters.dynamodb.ledger:DynamoHolds.release\n");
       hold = 0
     }
  od
}
#endif

/* Nothing that began before the drain is under way after it: the drain is longer than any function may run. */
#define OVER(i) (under[i] == 0 || under[i] > last)

#ifdef KEEPS
#define ANSWERS_LEFT (answers[1] > 0 || (last > 1 && answers[2] > 0))
#else
#define ANSWERS_LEFT false
#endif
#define GOES (rows & IN_PARTITIONS_UPTO(last) & ~HELD(keep))
#define LEFT (GOES != 0 || (entries & IN_PARTITIONS_UPTO(last)) != 0 \
  || (marks & MARKS_UPTO(last)) != 0 || ANSWERS_LEFT)

inline forget_answers() {
#ifdef KEEPS
  answers[1] = 0;
  if :: last > 1 -> answers[2] = 0 :: else fi
#else
  skip
#endif
}

/*
 * One erasure: the request, then the steps of the state machine. Every step may be repeated from the first one on, as
 * after a crash, a second start, or a verification that found something. `last` is the epoch that the request saw, which
 * stands in the ledger before the fence.
 */
proctype eraser(byte me) {
  byte asked = 0, last = 0;
  bit keep = 0;
  if
  :: atomic { epoch > 0 && state == ERASING -> goto over } /* answered with the erasure that runs already */
  :: atomic {
       epoch == 0 || state != ERASING ->
       STEP("@step lethe.services.erasure.requests:ErasureRequests.begin\n");
       asked = (epoch == 0 -> 1 : epoch);
       last = asked
     }
  fi;
#ifdef FENCE_AFTER_DELETE
  acknowledged = asked;
#endif
#ifdef HOLDS_BEFORE_FENCE
  keep = (hold > 0);
#endif
again:
#ifndef FENCE_AFTER_DELETE
  atomic {
    STEP("@step lethe.adapters.dynamodb.heads:DynamoSubjectHeads.fence\n");
#ifdef FENCE_AGAIN
    if
    :: fenced_by != me && epoch < 3 -> last = (epoch == 0 -> 1 : epoch); epoch = last + 1; state = ERASING; fenced_by = me
    :: else
    fi;
#else
    if
    :: epoch == 0 || epoch == last -> epoch = last + 1; state = ERASING
    :: else
    fi;
#endif
    if :: acknowledged < asked -> acknowledged = asked :: else fi
  }
#endif
#if defined(HOLDS) && !defined(HOLDS_BEFORE_FENCE)
  atomic {
    STEP("@step lethe.adapters.dynamodb.ledger:DynamoHolds.of_subject\n");
    keep = (hold > 0)
  }
#endif
  /* The first deletion, while late writers may still be at work. It may miss anything, and stop anywhere. */
  do
  :: atomic {
       STEP("@step lethe.adapters.opensearch.writer:OpenSearchWriter.clear\n");
       entries = entries & ~IN_PARTITIONS_UPTO(last);
       marks = marks & ~MARKS_UPTO(last)
     }
  :: atomic {
       STEP("@step lethe.adapters.dynamodb.purge:DynamoPurge.answers\n");
       forget_answers()
     }
  :: atomic {
       STEP("@step lethe.adapters.dynamodb.purge:DynamoPurge.memories\n");
       MUST(P3, (GOES & ~ROWS_UPTO(asked)) == 0);
       MUST(P5, (GOES & COVERED) == 0);
       rows = rows & ~GOES
     }
  :: atomic { STEP("@step lethe.services.erasure.worker:Worker.run\n"); goto again }
  :: break
  od;
#ifdef FENCE_AFTER_DELETE
  atomic {
    STEP("@step lethe.adapters.dynamodb.heads:DynamoSubjectHeads.fence\n");
    if
    :: epoch == 0 || epoch == last -> epoch = last + 1; state = ERASING
    :: else
    fi
  }
#endif
#ifndef NO_DRAIN
  atomic {
#ifndef LASTING_THREAD
    OVER(0) && OVER(1) &&
#endif
#ifndef SHORT_DRAIN
    OVER(INDEXER) &&
#endif
    OVER(KEEPER) ->
    STEP("@step lethe.domain.erasure:drain_seconds\n")
  }
#endif
#ifndef NO_SECOND_SWEEP
  if
  :: atomic {
       STEP("@step lethe.services.erasure.worker:Worker._sweep\n");
       MUST(P3, (GOES & ~ROWS_UPTO(asked)) == 0);
       MUST(P5, (GOES & COVERED) == 0);
       forget_answers();
       rows = rows & ~GOES
     }
#ifdef FAULTS
  :: missed == 0 -> missed = 1
#endif
  fi;
  if
  :: atomic {
       STEP("@step lethe.services.erasure.whole:WholeDeletion.delete\n");
       entries = entries & ~IN_PARTITIONS_UPTO(last);
       marks = marks & ~MARKS_UPTO(last)
     }
#ifdef FAULTS
  :: missed == 0 -> missed = 1
#endif
  fi;
#endif
#ifndef NO_VERIFY
  atomic {
    STEP("@step lethe.services.erasure.verification:Looking.stretch\n");
    if
    :: LEFT -> MUST(P4, MISSED); goto again
    :: else
    fi
  }
#endif
  atomic {
    STEP("@step lethe.services.erasure.receipts:ReceiptWriter.write\n");
    if :: proved < asked -> proved = asked :: else fi;
    MUST(P2, (rows & ROWS_UPTO(asked) & ~HELD(keep)) == 0);
    MUST(P2, (entries & ROWS_UPTO(asked)) == 0 && (marks & MARKS_UPTO(asked)) == 0);
#ifdef KEEPS
    MUST(P2, answers[1] == 0 && (answers[2] == 0 || answers[2] > asked))
#endif
  }
  atomic {
    STEP("@step lethe.adapters.dynamodb.heads:DynamoSubjectHeads.end_erasure\n");
    if
    :: state == ERASING && epoch == last + 1 -> state = ERASED
    :: else
    fi
  }
  if
  :: atomic {
       STEP("@step lethe.services.erasure.tick:Tick.run\n");
       goto again
     }
  :: true
  fi;
over:
  atomic { asked = 0; last = 0; keep = 0 }
}

init {
  atomic {
    run writer(0);
#if WRITERS > 1
    run writer(1);
#endif
#ifdef KEEPS
    run keeper();
#endif
    run indexer();
    run reader();
    run admission();
#ifdef HOLDS
    run holder();
#endif
    run eraser(1);
#if ERASURES > 1
    run eraser(2);
#endif
  }
}
