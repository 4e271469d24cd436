import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { testAccountOf } from '../../accounts/authentication.ts';
import { mayConnect } from '../../accounts/connections.ts';
import { AUTOMATION_SCOPES, OPERATION_SCOPES, type Scope } from '../../accounts/key-settings.ts';
import { membershipsOf } from '../../accounts/members.ts';
import type { ConnectionRequest, Decision } from '../../api/connect/consent.ts';
import { CONSENT_PATH } from '../../api/connect/provider.ts';
import { accountsWithUnits } from '../../billing/statement.ts';
import { openTestAccount } from '../../billing/test-wallet.ts';
import { inTransaction } from '../../platform/db/transaction.ts';
import { DAY_MS } from '../../platform/durations.ts';
import { SoukError } from '../../platform/errors.ts';
import {
  type Form,
  FormRefused,
  type FormState,
  type FormValues,
  postForm,
  readForm,
  readValues,
} from '../kit/form-request.ts';
import { pageHeaders, sendPage } from '../kit/render.tsx';
import { noteActs } from '../page-acts.ts';
import type { Pages } from '../pages.ts';
import { personOf } from '../session.ts';
import { type ConsentAccounts, ConsentPage, type Offered } from './consent-page.tsx';

const cap = z.coerce
  .number('must be a number')
  .int('must be a whole number')
  .min(1, 'must be at least 1')
  .max(1_000_000_000, 'must be at most 1,000,000,000');

const ticked = z.literal('1').optional();

const consentForm = z
  .object({
    decision: z.literal('allow', 'select Allow or Cancel'),
    account: z.coerce.number('must be one of your accounts').int('must be one of your accounts'),
    data: z.enum(['live', 'test'], 'must be live or test'),
    calls: ticked,
    automation: ticked,
    webhooks: ticked,
    capDay: cap,
    capMonth: cap,
    days: z.coerce.number().pipe(z.literal([1, 7, 30, 90, 365], 'must be 1, 7, 30, 90 or 365')),
  })
  .refine(({ capDay, capMonth }) => capDay <= capMonth, {
    path: ['capDay'],
    message: 'must not be more than the units of a month',
  })
  .refine(({ calls, automation }) => calls === '1' || automation === undefined, {
    path: ['automation'],
    message: 'requires looking up data',
  });

type ConsentInput = z.output<typeof consentForm>;

/** Reads a decision; null: the person refuses, and the other fields do not count. */
function readDecision(body: unknown): Form<ConsentInput | null> {
  const values = readValues(body);
  if (values.decision === 'deny') return { ok: true, input: null, values, faults: {} };
  return readForm(consentForm, body);
}

/** Registers the page on which a person decides what a program may do that wants to sign in. */
export function registerConsent(scope: FastifyInstance, pages: Pages): void {
  const path = `${CONSENT_PATH}/:uid`;
  const { consent, clock } = pages;

  scope.get(path, (_request, reply) => show(reply, null));
  postForm(scope, path, readDecision, show, async (input, request, reply) => {
    const exchange = { request: request.raw, reply: reply.raw };
    const asked = await consent.requestOf(exchange);
    if (!asked) throw expired();
    const scopes = input ? grantedOf(asked, input) : [];
    if (!input || !asked.scopes.some((one) => scopes.includes(one))) {
      noteActs(request);
      const reason = input ? 'The person allowed none of the requested scopes.' : undefined;
      const address = await consent.deny(exchange, reason);
      if (address === null) throw expired();
      return address;
    }
    const { personId } = personOf(request);
    const { open } = await accountsOf(pages, request);
    if (!open.some(({ accountId }) => accountId === input.account)) throw notYours();
    const accountId = await accountOfData(pages, input);
    const { capDay, capMonth, days } = input;
    const expiresAt = new Date(clock.now() + days * DAY_MS);
    const settings = { name: asked.clientName, scopes, capDay, capMonth, networks: null, expiresAt };
    const decision: Decision = { personId, mayLackSso: mayLackSso(pages, request), accountId, settings };
    const allowed = await consent.allow(exchange, decision).catch(refuseForm);
    if (!allowed) throw expired();
    noteActs(request, { action: 'connection.created', target: String(allowed.keyId), accountId });
    return allowed.address;
  });

  /** @param form null: with what the program asks for. */
  async function show(reply: FastifyReply, form: FormState | null, status?: number): Promise<FastifyReply> {
    const { request } = reply;
    const asked = await consent.requestOf({ request: request.raw, reply: reply.raw });
    if (!asked) throw expired();
    const accounts = await accountsOf(pages, request);
    const { returnsTo } = asked;
    reply.headers(pageHeaders(returnsTo ? [formTarget(returnsTo.origin)] : []));
    return sendPage(
      reply,
      <ConsentPage
        asked={asked}
        offered={offeredTo(asked)}
        accounts={accounts}
        hasTestData={pages.testMode !== null}
        email={personOf(request).email}
        form={form ?? { values: defaultsOf(pages, asked, accounts), faults: {} }}
        path={`${CONSENT_PATH}/${(request.params as { uid: string }).uid}`}
      />,
      status,
    );
  }
}

function offeredTo({ scopes }: ConnectionRequest): Offered {
  const offered = (group: readonly Scope[]) => {
    const asked = group.filter((scope) => scopes.includes(scope));
    return asked.length > 0 ? asked : group;
  };
  return {
    calls: offered(OPERATION_SCOPES),
    automation: offered(AUTOMATION_SCOPES),
    webhooks: scopes.includes('webhooks') ? ['webhooks'] : [],
  };
}

function grantedOf(asked: ConnectionRequest, input: ConsentInput): Scope[] {
  const offered = offeredTo(asked);
  return [
    'read',
    ...(input.calls ? offered.calls : []),
    ...(input.automation ? offered.automation : []),
    ...(input.webhooks ? offered.webhooks : []),
  ];
}

function defaultsOf({ testMode }: Pages, asked: ConnectionRequest, { chosen }: ConsentAccounts): FormValues {
  const isAsked = (group: readonly Scope[]) => (group.some((one) => asked.scopes.includes(one)) ? '1' : '');
  return {
    account: chosen ? String(chosen.accountId) : '',
    data: chosen?.hasUnits || !testMode ? 'live' : 'test',
    calls: isAsked(OPERATION_SCOPES),
    automation: isAsked(AUTOMATION_SCOPES),
    webhooks: isAsked(['webhooks']),
    capDay: '100',
    capMonth: '1000',
    days: '30',
  };
}

function mayLackSso({ openId }: Pages, request: FastifyRequest): boolean {
  return personOf(request).isSso || openId === null;
}

/** Returns the accounts that the person may connect now, and those only after a sign-in by OpenID Connect. */
async function accountsOf(pages: Pages, request: FastifyRequest): Promise<ConsentAccounts> {
  const { database, clock } = pages;
  const { personId, lastAccountId } = personOf(request);
  const able = (await membershipsOf(database, personId)).filter((one) => mayConnect(one, true));
  const isOpen = mayLackSso(pages, request);
  const found = able.filter((one) => mayConnect(one, isOpen));
  const ids = found.map(({ accountId }) => accountId);
  const withUnits = await accountsWithUnits(database, ids, clock.now());
  const open = found.map((one) => ({ ...one, hasUnits: withUnits.has(one.accountId) }));
  return {
    open,
    chosen: open.find(({ accountId }) => accountId === lastAccountId) ?? open[0] ?? null,
    closed: able.filter((one) => !found.includes(one)),
  };
}

/** Returns the account whose data a connection gets. */
async function accountOfData(
  { database, clock, testMode }: Pages,
  { account, data }: ConsentInput,
): Promise<number> {
  if (data === 'live') return account;
  if (!testMode) throw new FormRefused(400, { data: 'must be live: this service has no test data' });
  await inTransaction(database, (client) =>
    openTestAccount(client, account, clock.now(), testMode.unitsPerDay),
  );
  return testAccountOf(account);
}

/** The source of the content policy that allows a form to lead to an address. Policies know no IPv6 addresses. */
function formTarget(origin: string): string {
  const { protocol, hostname } = new URL(origin);
  return hostname.startsWith('[') ? protocol : origin;
}

/** Shows why a connection was not created on its form. */
function refuseForm(error: unknown): never {
  if (!(error instanceof SoukError)) throw error;
  if (error.kind === 'KEY_FORBIDDEN') throw notYours();
  if (error.kind === 'LIMIT_REACHED') throw new FormRefused(409, { '': error.message });
  throw error;
}

function notYours(): FormRefused {
  return new FormRefused(403, { account: 'must be an account to which you may connect programs' });
}

function expired(): SoukError {
  return new SoukError('NOT_FOUND', {
    message: 'This request has expired or has been decided already. Start again in the program.',
  });
}
