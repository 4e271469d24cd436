import { Registry } from 'prom-client';
import { describe, expect } from 'vitest';
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
import { ownerOf } from '../support/customer.ts';
import { test as base } from '../support/souk-test.ts';

const HOSTILE = 'Ann\r\nBcc: thief@evil.example <b>';
const PUBLIC_URL = 'https://souk.example';
const MAILS = { channel: 'mail', accountId: null } as const;
const secretBox = createSecretBox(['a key of more than thirty-two letters']);

const at = '2026-03-04T10:00:00.000Z';
const passwordChanged = { kind: 'password_changed', facts: { at } } as const;
const low = {
  kind: 'units_low',
  facts: { source: 'packs', period: '1', of: 'your packs', remaining: 1_200, total: 10_000 },
} as const;

let number = 0;

/** `mails`: the outbox, and mails to an address of the test. */
const test = base.extend('mails', ({ database, mailServer: server }, { onCleanup }) => {
  number += 1;
  const email = `ann-${number}@customers.example`;
  const clock = new TestClock();
  server.reset();
  const mails = {
    email,
    clock,
    /** An account and its owner, who has the address. */
    async account(isConfirmed = true): Promise<{ accountId: number; personId: number }> {
      const accountId = await ensureAccount(database, email, HOSTILE, clock.now());
      const personId = await ownerOf(database, accountId);
      const at = isConfirmed ? new Date(0) : null;
      await database.query('update people set email_confirmed_at = $2 where id = $1', [personId, at]);
      return { accountId, personId };
    },
    async queue(...mails: Parameters<typeof queueMail>[1][]): Promise<void> {
      for (const mail of mails) await queueMail(database, mail, clock.now());
    },
    /** Opens a worker that sends to the mail server. */
    work(settings?: MailSettings | null) {
      const transport = { smtpUrl: server.url };
      const smtp = { from: 'Souk <souk@souk.example>', publicUrl: PUBLIC_URL, transport };
      const registry = new Registry();
      const sent = settings === undefined ? smtp : settings;
      const sender = createMailSender({
        database,
        clock,
        secretBox,
        registry,
        settings: sent,
        createResultLink: async () => null,
      });
      const loop = startOutbox({ database, clock, log: createLogger('silent') }, [sender]);
      onCleanup(() => loop.close());
      return registry;
    },
    /** The last state of the mails. */
    async states() {
      const all = await listMessages(database, MAILS, { state: null, before: null, limit: 100 });
      return all.filter(({ recipient }) => recipient === email).map((one) => [one.state, one.attempts]);
    },
    become: (...expected: [state: string, attempts: number][]) =>
      expect.poll(() => mails.states()).toEqual(expected),
    /** Advances the time, and lets the worker look for due mails after it. */
    async pass(ms: number): Promise<void> {
      for (const step of [ms, 1_000]) {
        await clock.until('outbox step');
        clock.advance(step);
      }
    },
  };
  return mails;
});

describe('a mail', () => {
  test('is sent once for a cause that is queued several times, and not at all for a transaction that is rolled back', async ({
    database,
    mails,
    mailServer,
  }) => {
    const { accountId, personId } = await mails.account();
    await mails.queue({ personId, ...passwordChanged }, { personId, ...passwordChanged });
    const lost = inTransaction(database, async (client) => {
      await queueMail(client, { accountId, ...low }, mails.clock.now());
      throw new Error('rolled back');
    });
    await expect(lost).rejects.toThrow('rolled back');
    const registry = mails.work();
    await mailServer.received(1);
    await mails.become(['sent', 1]);
    await mails.pass(86_400_000);
    await mails.clock.until('outbox step');
    expect(mailServer.attempts).toBe(1);
    expect(await registry.metrics()).toContain('souk_mails_total{kind="password_changed",outcome="sent"} 1');
  });

  test('has text and HTML, headers to unsubscribe, and a name with line breaks in no header of its own', async ({
    mails,
    mailServer,
  }) => {
    const { accountId } = await mails.account();
    const facts = { scheduleId: 'x', name: HOSTILE, isTracker: false, since: '1', reason: 'It failed.' };
    await mails.queue({ accountId, ...low }, { accountId, kind: 'schedule_failing', facts });
    mails.work();
    const received = await mailServer.received(2);
    for (const mail of received) {
      expect(mail.to).toEqual([{ name: expect.stringContaining('Ann'), address: mails.email }]);
      expect(mail.bcc).toBeUndefined();
      expect(mail.html).not.toContain('<b>');
      const header = (key: string) => mail.headers.find((one) => one.key === key)?.value;
      expect(header('bcc')).toBeUndefined();
      expect(header('auto-submitted')).toBe('auto-generated');
      expect(header('list-unsubscribe-post')).toBe('List-Unsubscribe=One-Click');
      const [, address = ''] = /^<(.+)>$/.exec(header('list-unsubscribe') ?? '') ?? [];
      expect(address).toMatch(/^https:\/\/souk\.example\/unsubscribe\?token=\d+\.\d+\.\w+\.[\w-]{43}$/);
      expect(mail.text).toContain(address);
      expect(mail.html).toContain(address);
    }
    const about = received.find(({ subject }) => subject === '20 % of your units are left');
    expect(about?.text).toContain('1,200 of the 10,000 units of your packs are left.');
    expect(about?.html).toContain(`<a href="${PUBLIC_URL}/account/${accountId}/plans"`);
  });

  test('is tried again after a reply 451 and after a broken connection, and sent once when the server takes it', async ({
    mails,
    mailServer,
  }) => {
    await mails.queue({ personId: (await mails.account()).personId, ...passwordChanged });
    mailServer.react({ code: 451, at: 'DATA' });
    mails.work();
    for (const [tries, delayMs] of RETRY_DELAYS_MS.slice(0, 2).entries()) {
      await mails.become(['pending', tries + 1]);
      mailServer.react(tries === 0 ? 'hang up' : 'take');
      await mails.pass(delayMs);
    }
    await mailServer.received(1);
    await mails.become(['sent', 3]);
    expect([mailServer.attempts, mailServer.taken.length]).toEqual([3, 1]);
  });

  test('that is refused with 550 fails immediately, with the reply', async ({
    database,
    mails,
    mailServer,
  }) => {
    await mails.queue({ personId: (await mails.account()).personId, ...passwordChanged });
    mailServer.react({ code: 550, at: 'RCPT' });
    mails.work();
    await mails.become(['failed', 1]);
    const [mail] = await listMessages(database, MAILS, { state: 'failed', before: null, limit: 1 });
    expect(mail?.lastError).toContain('550 refused by the test');
  });
});

describe('a mail is not sent', () => {
  test.for([
    ['without a mail server', true, [], null],
    ['to an address that is not confirmed', false, [], undefined],
    ['about a topic that the account has switched off', true, ['units'], undefined],
  ] as const)('%s', async ([, isConfirmed, off, settings], { database, mails, mailServer }) => {
    const { accountId, personId } = await mails.account(isConfirmed);
    await setTopicsOff(database, { accountId, personId }, off);
    await mails.queue({ accountId, ...low });
    mails.work(settings);
    await mails.become(['not_sent', 0]);
    expect(mailServer.attempts).toBe(0);
  });

  test.for([
    ['confirms an address that the person has left', 'confirm_email', 'present'],
    ['changes an address that the person has left', 'confirm_new_email', 'present'],
    ['changes the address, after a later request for another one', 'confirm_new_email', 'wanted'],
    ['confirms the address, after a request for another one', 'confirm_email', 'wanted'],
  ] as const)(
    'whose link %s, without a record',
    async ([, kind, change], { database, mails, mailServer }) => {
      const { email: to } = mails;
      const { personId } = await mails.account();
      const present = kind === 'confirm_email' ? to : `present-${to}`;
      await database.query('update people set email = $2 where id = $1', [personId, present]);
      const asked = { personId, to, facts: { requestId: to, present } };
      await mails.queue(kind === 'confirm_email' ? { ...asked, kind } : { ...asked, kind });
      if (change === 'present')
        await database.query('update people set email = $2 where id = $1', [personId, `another-${to}`]);
      else {
        const facts = { requestId: `later ${to}`, present };
        await mails.queue({ personId, kind: 'confirm_new_email', to: `another-${to}`, facts });
      }
      mails.work();
      await mails.become();
      if (change === 'wanted') await mailServer.received(1);
      expect(mailServer.taken.flatMap((mail) => mail.to?.map(({ address }) => address))).not.toContain(to);
    },
  );

  test('with a password link to an address without an account, without a record', async ({
    mails,
    mailServer,
  }) => {
    const { email } = mails;
    await mails.queue({ accountId: null, kind: 'reset_password', to: email, facts: { requestId: email } });
    mails.work();
    await mails.become();
    expect(mailServer.attempts).toBe(0);
  });
});

describe('a mail with a token', () => {
  /** Queues a mail, and lets a worker handle it. */
  const confirm = test.extend('confirm', ({ database, mails }) => async (settings?: MailSettings) => {
    const { email } = mails;
    await mails.queue({
      personId: (await mails.account()).personId,
      kind: 'confirm_email',
      facts: { requestId: email },
    });
    mails.work(settings);
    await mails.become([settings ? 'not_sent' : 'sent', settings ? 0 : 1]);
    const [mail] = await listMessages(database, MAILS, { state: null, before: null, limit: 1 });
    const found = await findMessage(database, MAILS, mail?.id ?? '');
    const { rows } = await database.query('select to_jsonb(m) from outbox m where recipient = $1', [email]);
    return {
      shown: found && mailText(found, { secretBox, publicUrl: PUBLIC_URL }),
      stored: JSON.stringify(rows),
    };
  });
  const tokenIn = (text = '') => /confirm-email\?token=([\w-]{43})/.exec(text)?.[1];

  confirm('is stored without the token', async ({ confirm, mailServer }) => {
    const { shown, stored } = await confirm();
    const [mail] = await mailServer.received(1);
    const token = tokenIn(mail?.text);
    expect(token).toBeDefined();
    expect(shown).toBeNull();
    expect(stored).not.toContain(token);
  });

  confirm(
    'is shown with its link where mails are not sent, and stored sealed',
    async ({ confirm, mailServer }) => {
      const { shown, stored } = await confirm({
        from: '',
        publicUrl: 'http://127.0.0.1:3000',
        transport: 'console',
      });
      const token = tokenIn(shown ?? '');
      expect(token).toBeDefined();
      expect(stored).not.toContain(token);
      expect(mailServer.attempts).toBe(0);
    },
  );
});

describe('the last mail to the owner of a deleted account', () => {
  const last = ({ email: to }: { email: string }) =>
    ({ accountId: null, kind: 'account_erased', to, facts: { at } }) as const;

  test('is stored until the server takes it', async ({ mails, mailServer }) => {
    await mails.queue(last(mails));
    mailServer.react({ code: 451, at: 'DATA' });
    mails.work();
    await mails.become(['pending', 1]);
    mailServer.react('take');
    await mails.pass(RETRY_DELAYS_MS[0] ?? 0);
    const [mail] = await mailServer.received(1);
    expect(mail).toMatchObject({ subject: 'Your account was deleted', to: [{ address: mails.email }] });
    await mails.become();
  });

  test('is not stored after a refusal', async ({ mails, mailServer }) => {
    await mails.queue(last(mails));
    mailServer.react({ code: 550, at: 'RCPT' });
    mails.work();
    await mails.become();
    expect(mailServer.attempts).toBe(1);
  });

  test('is not stored where no mails are sent', async ({ mails }) => {
    await mails.queue(last(mails));
    mails.work(null);
    await mails.become();
  });

  test('is deleted after three days without a worker', async ({ database, mails }) => {
    await mails.queue(last(mails));
    await purgeMessages(database, mails.clock.now() + 2 * 86_400_000);
    expect(await mails.states()).toEqual([['pending', 0]]);
    await purgeMessages(database, mails.clock.now() + 4 * 86_400_000);
    expect(await mails.states()).toEqual([]);
  });
});

test('old mails are deleted, notices after 400 days and others after 30', async ({ database, mails }) => {
  const { accountId, personId } = await mails.account();
  await mails.queue({ personId, ...passwordChanged }, { accountId, ...low });
  mails.work();
  await mails.become(['sent', 1], ['sent', 1]);
  const left = async (days: number) => {
    await purgeMessages(database, mails.clock.now() + days * 86_400_000);
    return (await mails.states()).length;
  };
  expect([await left(29), await left(31), await left(401)]).toEqual([2, 1, 0]);
});
