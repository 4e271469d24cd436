import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { testAccountOf } from '../../accounts/authentication.ts';
import { OPERATION_SCOPES, type Scope } from '../../accounts/key-settings.ts';
import { isAble, type Membership, membershipsOf } from '../../accounts/members.ts';
import type { ConnectionRequest, Decision } from '../../api/connect/consent.ts';
import { CONSENT_PATH } from '../../api/connect/provider.ts';
import { openTestAccount } from '../../billing/test-wallet.ts';
import { inTransaction } from '../../platform/db/transaction.ts';
import { DAY_MS } from '../../platform/durations.ts';
import { SoukError } from '../../platform/errors.ts';
import { Choice, Field, PostForm, Submit } from '../kit/form.tsx';
import { FormRefused, type FormState, onSubmit } from '../kit/form-request.ts';
import { NarrowPage } from '../kit/layout.tsx';
import { pageHeaders, sendPage } from '../kit/render.tsx';
import { noteActs } from '../page-acts.ts';
import type { Pages } from '../pages.ts';
import { personOf } from '../session.ts';

const cap = z.coerce
  .number('must be a number')
  .int('must be a whole number')
  .min(1, 'must be at least 1')
  .max(1_000_000_000, 'must be at most 1,000,000,000');

const consentForm = z.object({
  decision: z.enum(['allow', 'deny']),
  account: z.coerce.number().int(),
  data: z.enum(['live', 'test']),
  capDay: cap,
  capMonth: cap,
  automation: z.literal('1').optional(),
  days: z.coerce.number().pipe(z.literal([1, 7, 30, 90, 365])),
});

type ConsentInput = z.output<typeof consentForm>;

/** Registers the page on which a person decides what a program may do that wants to sign in. */
export function registerConsent(scope: FastifyInstance, pages: Pages): void {
  const path = `${CONSENT_PATH}/:uid`;
  const { consent, clock } = pages;

  scope.get(path, (_request, reply) => show(reply, { values: DEFAULTS, faults: {} }));
  scope.post(path, onSubmit(consentForm, show, decide));

  async function decide(input: ConsentInput, request: FastifyRequest, reply: FastifyReply): Promise<string> {
    const exchange = { request: request.raw, reply: reply.raw };
    const asked = await consent.requestOf(exchange);
    if (!asked) throw expired();
    if (input.decision === 'deny') {
      noteActs(request);
      return (await consent.deny(exchange)) ?? '/account';
    }
    const { personId } = personOf(request);
    const account = (await ableAccounts(pages, personId)).find(
      ({ accountId }) => accountId === input.account,
    );
    if (!account) throw new FormRefused(403, { account: 'must be an account in which you may create keys' });
    const accountId = await accountOf(pages, account.accountId, input.data);
    const decision: Decision = { personId, accountId, settings: settingsOf(asked, input, clock.now()) };
    const allowed = await consent.allow(exchange, decision);
    if (!allowed) throw expired();
    noteActs(request, { action: 'connection.created', target: String(allowed.keyId), accountId });
    return allowed.address;
  }

  async function show(reply: FastifyReply, form: FormState, status?: number): Promise<FastifyReply> {
    const { request } = reply;
    const asked = await consent.requestOf({ request: request.raw, reply: reply.raw });
    if (!asked) throw expired();
    const accounts = await ableAccounts(pages, personOf(request).personId);
    reply.headers(pageHeaders(asked.returnsTo ? [asked.returnsTo.origin] : []));
    return sendPage(
      reply,
      <ConsentPage asked={asked} accounts={accounts} form={form} action={request.url} />,
      status,
    );
  }
}

const DEFAULTS = { data: 'test', capDay: '100', capMonth: '1000', days: '30' };

async function ableAccounts({ database }: Pages, personId: number): Promise<Membership[]> {
  const memberships = await membershipsOf(database, personId);
  return memberships.filter(({ role, isActive }) => isActive && isAble(role, 'keys'));
}

/** Returns the account whose data a connection gets. */
function accountOf(
  { database, clock, testMode }: Pages,
  liveAccountId: number,
  data: 'live' | 'test',
): Promise<number> {
  if (data === 'live') return Promise.resolve(liveAccountId);
  if (!testMode) throw new FormRefused(400, { data: 'must be live: this service has no test data' });
  return inTransaction(database, (client) =>
    openTestAccount(client, liveAccountId, clock.now(), testMode.unitsPerDay),
  ).then(() => testAccountOf(liveAccountId));
}

const AUTOMATION: readonly Scope[] = ['batches', 'schedules', 'trackers'];

function settingsOf(asked: ConnectionRequest, input: ConsentInput, now: number): Decision['settings'] {
  const data = OPERATION_SCOPES.filter((scope) => asked.scopes.includes(scope));
  const scopes: Scope[] = ['read', ...data, ...(input.automation ? AUTOMATION : [])];
  const { capDay, capMonth, days } = input;
  return {
    name: asked.clientName,
    scopes,
    capDay,
    capMonth,
    networks: null,
    expiresAt: new Date(now + days * DAY_MS),
  };
}

function ConsentPage(props: {
  asked: ConnectionRequest;
  accounts: readonly Membership[];
  form: FormState;
  action: string;
}) {
  const { asked, accounts, form, action } = props;
  return (
    <NarrowPage title={`Connect ${asked.clientName}`}>
      <PostForm action={action} form={form}>
        <Choice
          name="account"
          label="Account"
          options={accounts.map(({ accountId, accountName }) => [String(accountId), accountName])}
        />
        <Choice
          name="data"
          label="Data"
          options={[
            ['test', 'Test data'],
            ['live', 'Live data'],
          ]}
        />
        <Field name="capDay" label="Units a day" />
        <Field name="capMonth" label="Units a month" />
        <Choice
          name="days"
          label="Ends after"
          options={[
            ['1', '1 day'],
            ['7', '7 days'],
            ['30', '30 days'],
            ['90', '90 days'],
            ['365', '1 year'],
          ]}
        />
        <Submit>Allow</Submit>
      </PostForm>
    </NarrowPage>
  );
}

function expired(): SoukError {
  return new SoukError('NOT_FOUND', {
    message: 'This request has expired or has been decided already. Start again in the program.',
  });
}
