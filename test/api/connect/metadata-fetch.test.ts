import { expect, onTestFinished, test } from 'vitest';
import { createMetadataFetch, KNOWN_CLIENTS } from '../../../src/api/connect/known-clients.ts';
import { createAddressGuard } from '../../../src/outbox/webhooks/address-guard.ts';
import { openMetadataServer, TEST_AUTHORITY } from '../../support/metadata-server.ts';

const withoutNames = createMetadataFetch(
  createAddressGuard(false, async () => {
    throw new Error('no names');
  }),
);

test.each(Object.keys(KNOWN_CLIENTS))(
  'the document %s that cannot be fetched is the known one',
  async (address) => {
    const document = (await (await withoutNames(address)).json()) as { client_id: string };
    expect(document).toEqual(KNOWN_CLIENTS[address]);
    expect(document.client_id).toBe(address);
  },
);

test('the copies of documents lead only to their vendors and to the machine of the person', () => {
  for (const [address, document] of Object.entries(KNOWN_CLIENTS)) {
    const { redirect_uris: addresses } = document as { redirect_uris: readonly string[] };
    for (const one of addresses)
      expect([new URL(address).host, 'localhost', '127.0.0.1', '127.0.0.1:33418']).toContain(
        new URL(one).host,
      );
  }
});

test('an unknown document that cannot be fetched is an error', async () => {
  await expect(withoutNames('https://notebook.example/client.json')).rejects.toThrow('no names');
});

test('a document that can be fetched is the one of its server', async () => {
  const server = await openMetadataServer();
  onTestFinished(() => server.close());
  const address = server.publish('/client.json', { client_name: 'Notebook' });
  const answer = await createMetadataFetch(createAddressGuard(true), TEST_AUTHORITY)(address);
  expect(await answer.json()).toEqual({ client_id: address, client_name: 'Notebook' });
  await expect(createMetadataFetch(createAddressGuard(true))(address)).rejects.toThrow('fetch failed');
});
