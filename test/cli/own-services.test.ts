import { readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { freePort } from '../../src/platform/embedded/server-process.ts';
import { createClient } from '../support/client.ts';
import { processesWith } from '../support/processes.ts';
import { type SoukCommand, soukProcess } from '../support/souk-command.ts';
import { createDataDir, type Start, start } from '../support/start.ts';

// One life in several chapters: each test goes on where the one before has stopped.
let dataDir: Awaited<ReturnType<typeof createDataDir>>;
let note: string;
let command: SoukCommand;
let running: Start | undefined;
let env: Record<string, string>;
beforeAll(async () => {
  dataDir = await createDataDir();
  note = join(dataDir.path, 'services.json');
  env = { SOUK_DATA_DIR: dataDir.path, PORT: String(await freePort()) };
  command = soukProcess({ SOUK_DATA_DIR: dataDir.path });
});
afterAll(async () => {
  running?.kill();
  await vi.waitFor(async () => expect(await processesWith(dataDir.path)).toEqual([]), { timeout: 120_000 });
  await dataDir.remove();
});

test('without settings the command works on what `npm start` runs', { timeout: 300_000 }, async () => {
  running = start(env);
  await running.line(/^Souk ready: /m);
  expect((await stat(note)).mode & 0o777).toBe(0o600);

  const { id } = await command.json('account create --email ann@shop.example');
  await command.json(`grant subscription --account ${id} --plan trial`);
  const { key } = await command.json(`key create --account ${id}`);
  const reply = await createClient(`http://127.0.0.1:${env.PORT}`, key).get(
    '/api/market/product?domain=1&asins=B0AA11BB22',
  );
  expect(reply.status).toBe(200);
  expect(await command.json(`usage --account ${id}`)).toMatchObject({ calls: 1, units: 1 });

  const { ok, checks } = await command.json('doctor');
  expect(ok).toBe(true);
  expect(new Set(checks.map(({ state }: { state: string }) => state))).toEqual(new Set(['ok']));
});

test('once that is stopped nothing tells where it was, and the command says what to do', async () => {
  running?.interrupt();
  expect(await running?.ended).toBe(0);
  await expect(stat(note)).rejects.toThrow('ENOENT');
  const { code, stderr } = await command.run('account list');
  expect([code, stderr]).toMatchObject([
    1,
    expect.stringMatching(/^DATABASE_URL is not set, .* run `npm start`\.\n$/),
  ]);
});

test('after a kill what is left there misleads nobody, and the next start writes it anew', {
  timeout: 300_000,
}, async () => {
  running = start(env);
  await running.line(/^Souk ready: /m);
  running.kill();
  await running.ended;
  expect(await readFile(note, 'utf8')).toContain('postgresql://');
  const { code, stderr } = await command.run('account list');
  expect([code, stderr]).toMatchObject([1, expect.stringMatching(/^DATABASE_URL is not set, /)]);
  await vi.waitFor(async () => expect(await processesWith(dataDir.path)).toEqual([]), { timeout: 120_000 });

  await writeFile(note, 'not JSON', { mode: 0o644 });
  expect((await command.run('account list')).code).toBe(1);
  running = start(env);
  await running.line(/^Souk ready: /m);
  expect((await stat(note)).mode & 0o777).toBe(0o600);
  expect(await command.text('account list')).toContain('ann@shop.example');
  running.interrupt();
  expect(await running.ended).toBe(0);
});
