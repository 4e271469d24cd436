-- Up Migration

-- A refund returns the units of a settled call whose answer was lost.
alter type ledger_kind add value 'refund';

-- A refund finds the lines of a call by their time. Lines are stored in the order of their times, so the index is tiny.
create index ledger_at on ledger using brin (at) with (autosummarize = on);

-- A refund of a batch's call lowers the charge of the batch.
create index batch_calls_call on batch_calls (call_id) where call_id is not null;
