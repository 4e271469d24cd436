-- Up Migration

-- Claims are deleted by a scan once a minute, because the table is small. An index by age would cost every call more.
drop index call_claims_accepted;
