import { Registry } from 'prom-client';
import { beforeEach, describe, expect } from 'vitest';
import { ensureAccount } from '../../src/accounts/accounts.ts';
import { findMessage, listMessages, purgeMessages } from '../../src/outbox/log.ts';
import { setTopicsOff } from '../../src/outbox/mail/choices.ts';
import { createMailSender } from '../../src/outbox/mail/mail-sender.ts';
import { type MailSettings, mailText, queueMail } from '../../src/outbox/mail/mails.ts';
import { inTransaction } from '../../src/platform/db/transaction.ts';
import { createLogger } from '../../src/platform/log.ts';
import { RETRY_DELAYS_MS } from '../../src/platform/retry-delays.ts';
import { createSecretBox } from '../../src/platform/secret-box.ts';
import { startOutbox } from '../../workers/background/outbox.ts';
import { TestClock } from '../support/clock.ts';
import { test as base } from '../support/souk-test.ts';

const HOSTILE = 'Ann\r\nBcc: thief@evil.example <b>';
const PUBLIC_URL = 'https://souk.example';
const MAILS = { channel: 'mail', accountId: null } as const;
const secretBox = createSecretBox(['a key of more than thirty-two letters']);

/** `work` opens a worker that sends to the mail server. */
const test = base
  .extend('clock', () => new TestClock())
  .extend('work', ({ database, clock, mailServer }, { onCleanup }) => (settings?: MailSettings | null) => {
    const smtp = {
      from: 'Souk <souk@souk.example>',
      publicUrl: PUBLIC_URL,
      transport: { smtpUrl: mailServer.url },
    };
    const registry = new Registry();
    const log = createLogger('silent');
    const sender = createMailSender({
      database,
      clock,
      secretBox,
      registry,
      settings: settings === undefined ? smtp : settings,
    });
    const loop = startOutbox({ database, clock, log }, [sender]);
    onCleanup(() => loop.close());
    return registry;
  });

test.beforeEach(({ mailServer }) => mailServer.reset());

let email = '';
let number = 0;
beforeEach(() => {
  number += 1;
  email = `ann-${number}@customers.example`;
});

const at = '2026-03-04T10:00:00.000Z';
const passwordChanged = { kind: 'password_changed', facts: { at } } as const;
const low = {
  kind: 'units_low',
  facts: { source: 'packs', period: '1', of: 'your packs', remaining: 1_200, total: 10_000 },
} as const;

type Fixtures = { database: Parameters<typeof listMessages>[0]; clock: TestClock };

async function accountOf({ database, clock }: Fixtures, isConfirmed = true): Promise<number> {
  const id = await ensureAccount(database, email, HOSTILE, clock.now());
  if (isConfirmed)
    await database.query('update accounts set email_confirmed_at = $2 where id = $1', [id, new Date(0)]);
  return id;
}

/** The last state of the mails to this test's address. */
async function states({ database }: Fixtures) {
  const mails = await listMessages(database, MAILS, { state: null, before: null, limit: 100 });
  return mails.filter(({ recipient }) => recipient === email).map(({ state, attempts }) => [state, attempts]);
}

/** Advances the time, and lets the worker look for due mails after it. */
async function pass(clock: TestClock, ms: number): Promise<void> {
  for (const step of [ms, 1_000]) {
    await clock.until('outbox step');
    clock.advance(step);
  }
}

describe('a mail', () => {
  test('is sent once for a cause that is queued several times, and not at all for a transaction that is rolled back', async ({
    database,
    clock,
    mailServer,
    work,
  }) => {
    const accountId = await accountOf({ database, clock });
    await queueMail(database, { accountId, ...passwordChanged }, clock.now());
    await queueMail(database, { accountId, ...passwordChanged }, clock.now());
    const lost = inTransaction(database, async (client) => {
      await queueMail(client, { accountId, ...low }, clock.now());
      throw new Error('rolled back');
    });
    await expect(lost).rejects.toThrow('rolled back');
    const registry = work();
    await mailServer.received(1);
    await expect.poll(() => states({ database, clock })).toEqual([['sent', 1]]);
    await pass(clock, 86_400_000);
    await clock.until('outbox step');
    expect(mailServer.attempts).toBe(1);
    expect(await registry.metrics()).toContain('souk_mails_total{kind="password_changed",outcome="sent"} 1');
  });

  test('has text and HTML, headers to unsubscribe, and a name with line breaks in no header of its own', async ({
    database,
    clock,
    mailServer,
    work,
  }) => {
    const accountId = await accountOf({ database, clock });
    await queueMail(database, { accountId, ...low }, clock.now());
    await queueMail(
      database,
      {
        accountId,
        kind: 'schedule_failing',
        facts: { scheduleId: 'x', name: HOSTILE, isTracker: false, since: '1', reason: 'It failed.' },
      },
      clock.now(),
    );
    work();
    const mails = await mailServer.received(2);
    for (const mail of mails) {
      expect(mail.to).toEqual([{ name: expect.stringContaining('Ann'), address: email }]);
      expect(mail.bcc).toBeUndefined();
      expect(mail.html).not.toContain('<b>');
      const header = (key: string) => mail.headers.find((one) => one.key === key)?.value;
      expect(header('bcc')).toBeUndefined();
      expect(header('auto-submitted')).toBe('auto-generated');
      expect(header('list-unsubscribe-post')).toBe('List-Unsubscribe=One-Click');
      const [, address = ''] = /^<(.+)>$/.exec(header('list-unsubscribe') ?? '') ?? [];
      expect(address).toMatch(/^https:\/\/souk\.example\/unsubscribe\?token=\d+\.\w+\.[\w-]{43}$/);
      expect(mail.text).toContain(address);
      expect(mail.html).toContain(address);
    }
    const about = mails.find(({ subject }) => subject === '20 % of your units are left');
    expect(about?.text).toContain('1,200 of the 10,000 units of your packs are left.');
    expect(about?.html).toContain(`<a href="${PUBLIC_URL}/account/plans"`);
  });

  test('is tried again after a reply 451 and after a broken connection, and sent once when the server takes it', async ({
    database,
    clock,
    mailServer,
    work,
  }) => {
    const accountId = await accountOf({ database, clock });
    await queueMail(database, { accountId, ...passwordChanged }, clock.now());
    mailServer.react({ code: 451, at: 'DATA' });
    work();
    for (const [tries, delayMs] of RETRY_DELAYS_MS.slice(0, 2).entries()) {
      await expect.poll(() => states({ database, clock })).toEqual([['pending', tries + 1]]);
      mailServer.react(tries === 0 ? 'hang up' : 'take');
      await pass(clock, delayMs);
    }
    await mailServer.received(1);
    await expect.poll(() => states({ database, clock })).toEqual([['sent', 3]]);
    expect([mailServer.attempts, mailServer.taken.length]).toEqual([3, 1]);
  });

  test('fails at once when refused by 550, with reply', async ({ database, clock, mailServer, work }) => {
    const accountId = await accountOf({ database, clock });
    await queueMail(database, { accountId, ...passwordChanged }, clock.now());
    mailServer.react({ code: 550, at: 'RCPT' });
    work();
    await expect.poll(() => states({ database, clock })).toEqual([['failed', 1]]);
    const [mail] = await listMessages(database, MAILS, { state: 'failed', before: null, limit: 1 });
    expect(mail?.lastError).toContain('550 refused by the test');
  });
});

describe('a mail is not sent', () => {
  test.for([
    ['without a mail server', true, [], null],
    ['to an address that is not confirmed', false, [], undefined],
    ['about a topic that the account has switched off', true, ['units'], undefined],
  ] as const)('%s', async ([, isConfirmed, off, settings], { database, clock, mailServer, work }) => {
    const accountId = await accountOf({ database, clock }, isConfirmed);
    await setTopicsOff(database, accountId, off);
    await queueMail(database, { accountId, ...low }, clock.now());
    work(settings);
    await expect.poll(() => states({ database, clock })).toEqual([['not_sent', 0]]);
    expect(mailServer.attempts).toBe(0);
  });

  test('with a password link to an address without an account, and leaves no record', async ({
    database,
    clock,
    mailServer,
    work,
  }) => {
    const facts = { requestId: email };
    await queueMail(database, { accountId: null, kind: 'reset_password', to: email, facts }, clock.now());
    work();
    await expect.poll(() => states({ database, clock })).toEqual([]);
    expect(mailServer.attempts).toBe(0);
  });
});

describe('a mail with a token', () => {
  async function confirmation({ database, clock }: Fixtures): Promise<void> {
    const accountId = await accountOf({ database, clock });
    const notice = { accountId, kind: 'confirm_email', facts: { requestId: email } } as const;
    await queueMail(database, notice, clock.now());
  }
  async function shown({ database }: Fixtures) {
    const [mail] = await listMessages(database, MAILS, { state: null, before: null, limit: 1 });
    const found = await findMessage(database, MAILS, mail?.id ?? '');
    return found && { ...found, text: mailText(found, { secretBox, publicUrl: PUBLIC_URL }) };
  }
  const tokenIn = (text = '') => /confirm-email\?token=([\w-]{43})/.exec(text)?.[1];
  const stored = async ({ database }: Fixtures) =>
    JSON.stringify(
      (await database.query('select to_jsonb(m) as row from outbox m where recipient = $1', [email])).rows,
    );

  test('is stored without the token', async ({ database, clock, mailServer, work }) => {
    await confirmation({ database, clock });
    work();
    const [mail] = await mailServer.received(1);
    const token = tokenIn(mail?.text);
    expect(token).toBeDefined();
    await expect.poll(() => states({ database, clock })).toEqual([['sent', 1]]);
    expect(await shown({ database, clock })).toMatchObject({ state: 'sent', text: null });
    expect(await stored({ database, clock })).not.toContain(token);
  });

  test('is shown with its link where mails are not sent, and stored sealed', async ({
    database,
    clock,
    mailServer,
    work,
  }) => {
    await confirmation({ database, clock });
    work({ from: '', publicUrl: 'http://127.0.0.1:3000', transport: 'console' });
    await expect.poll(() => states({ database, clock })).toEqual([['not_sent', 0]]);
    const token = tokenIn((await shown({ database, clock }))?.text ?? '');
    expect(token).toBeDefined();
    expect(await stored({ database, clock })).not.toContain(token);
    expect(mailServer.attempts).toBe(0);
  });
});

describe('the last mail to the owner of a deleted account', () => {
  const queueLast = ({ database, clock }: Fixtures) =>
    queueMail(database, { accountId: null, kind: 'account_erased', to: email, facts: { at } }, clock.now());

  test('is stored until the server takes it', async ({ database, clock, mailServer, work }) => {
    await queueLast({ database, clock });
    mailServer.react({ code: 451, at: 'DATA' });
    work();
    await expect.poll(() => states({ database, clock })).toEqual([['pending', 1]]);
    mailServer.react('take');
    await pass(clock, RETRY_DELAYS_MS[0] ?? 0);
    const [mail] = await mailServer.received(1);
    expect(mail).toMatchObject({ subject: 'Your account was deleted', to: [{ address: email }] });
    await expect.poll(() => states({ database, clock })).toEqual([]);
  });

  test('is not stored after a refusal', async ({ database, clock, mailServer, work }) => {
    await queueLast({ database, clock });
    mailServer.react({ code: 550, at: 'RCPT' });
    work();
    await expect.poll(() => states({ database, clock })).toEqual([]);
    expect(mailServer.attempts).toBe(1);
  });

  test('is not stored where no mails are sent', async ({ database, clock, work }) => {
    await queueLast({ database, clock });
    work(null);
    await expect.poll(() => states({ database, clock })).toEqual([]);
  });

  test('is deleted after three days without a worker', async ({ database, clock }) => {
    await queueLast({ database, clock });
    await purgeMessages(database, clock.now() + 2 * 86_400_000);
    expect(await states({ database, clock })).toEqual([['pending', 0]]);
    await purgeMessages(database, clock.now() + 4 * 86_400_000);
    expect(await states({ database, clock })).toEqual([]);
  });
});

test('old mails are deleted, notices after 400 days and others after 30', async ({
  database,
  clock,
  mailServer,
  work,
}) => {
  const accountId = await accountOf({ database, clock });
  await queueMail(database, { accountId, ...passwordChanged }, clock.now());
  await queueMail(database, { accountId, ...low }, clock.now());
  work();
  await mailServer.received(2);
  await expect
    .poll(() => states({ database, clock }))
    .toEqual([
      ['sent', 1],
      ['sent', 1],
    ]);
  const left = async (days: number) => {
    await purgeMessages(database, clock.now() + days * 86_400_000);
    return (await states({ database, clock })).length;
  };
  expect([await left(29), await left(31), await left(401)]).toEqual([2, 1, 0]);
});
