/** Keys that were created within a day, on a page, by the API or by the operator. */
export const KEY_CREATED = `
  select account_id, 'key_created' as kind, prefix || ' ' || at as cause,
    json_build_object('prefix', prefix, 'at', at) as facts
  from (
    select account_id, prefix, to_char(created_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"') as at
    from api_keys
    where purpose = 'customer' and created_at between $1::timestamptz - interval '1 day' and $1::timestamptz
  ) as k`;

/** Valid keys whose last use, or creation, was 90 days ago. Older ones are left out, so that mails begin without a flood. */
export const KEY_UNUSED = `
  select account_id, 'key_unused' as kind, id || ' ' || since as cause,
    json_build_object('keyId', id, 'prefix', prefix, 'since', since, 'lastUsedAt',
      to_char(last_used_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"')) as facts
  from (
    select id, account_id, prefix, last_used_at,
      to_char(coalesce(last_used_at, created_at) at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"') as since
    from api_keys
    where purpose = 'customer' and revoked_at is null and (expires_at is null or expires_at > $1::timestamptz)
      and coalesce(last_used_at, created_at) between $1::timestamptz - interval '97 days' and $1::timestamptz - interval '90 days'
  ) as k`;
