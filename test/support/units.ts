import type { Client } from './client.ts';

/** The units that the account of a client with a subscription has spent this month, reserved ones included. */
export async function unitsUsed(client: Client): Promise<number> {
  const { json } = await client.get('/api/quota');
  return json.data.general.monthly.used;
}
