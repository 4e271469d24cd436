-- Both sides of each line of the ledger: a line moves units between two places.
create or replace view ledger_entries as
  select l.account_id, l.id, l.at, l.kind, l.source, l.source_id, l.call_id, e.place, e.units
  from ledger l
  cross join lateral (
    values
      (case l.kind
         when 'grant' then 'issued'
         when 'charge' then 'available'
         when 'reserve' then 'available'
         when 'settle' then 'held'
         when 'release' then 'held'
         when 'refund' then 'used'
         when 'expire' then 'available'
         when 'revoke' then 'available'
         when 'restore' then 'revoked'
       end, -l.units),
      (case l.kind
         when 'grant' then 'available'
         when 'charge' then 'used'
         when 'reserve' then 'held'
         when 'settle' then 'used'
         when 'release' then 'available'
         when 'refund' then 'available'
         when 'expire' then 'expired'
         when 'revoke' then 'revoked'
         when 'restore' then 'available'
       end, l.units)
  ) as e (place, units);
