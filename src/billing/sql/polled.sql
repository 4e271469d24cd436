-- Notes that a caller may fetch the result of a call later, and stores the input with which a lost answer is made again. The
-- lock keeps the call from ending in between.
create or replace function souk_note_polled(account bigint, call uuid, call_input jsonb) returns void language plpgsql as $$
begin
  perform 1 from accounts a where a.id = account for no key update;
  update open_calls c set polled = true where c.account_id = account and c.id = call;
  if not found then
    update finished_calls c set polled = true, input = coalesce(c.input, call_input)
    where c.account_id = account and c.id = call and not c.polled;
  end if;
end
$$;
