import type { ComponentChildren, VNode } from 'preact';
import { listInWords, type Scope, scopesInWords } from '../../accounts/key-settings.ts';
import { type Membership, rolesAble } from '../../accounts/members.ts';
import type { ConnectionRequest } from '../../api/connect/consent.ts';
import { isLoopback } from '../../api/connect/resources.ts';
import { Choice, Fields, HiddenFields, PostButton, PostForm } from '../kit/form.tsx';
import type { FormState } from '../kit/form-request.ts';
import { NarrowPage } from '../kit/layout.tsx';
import { Midnight } from '../kit/words.tsx';
import { singleSignOnPath } from '../visitor/sign-in.tsx';

/** The scopes behind each check box: those of a group that the program asks for; all, if it asks for none of the group. */
export type Offered = Readonly<Record<'calls' | 'automation' | 'webhooks', readonly Scope[]>>;

type OpenAccount = Membership & { hasUnits: boolean };

/** The accounts of a person who decides. */
export interface ConsentAccounts {
  /** Those that the person may connect. */
  open: readonly OpenAccount[];
  /** The one that is chosen at first; null: there is none. */
  chosen: OpenAccount | null;
  /** Those that the person may connect after a sign-in by OpenID Connect. */
  closed: readonly Membership[];
}

interface ConsentProps {
  asked: ConnectionRequest;
  offered: Offered;
  accounts: ConsentAccounts;
  hasTestData: boolean;
  email: string;
  form: FormState;
  /** Of this page. */
  path: string;
}

/** The page on which a person decides what a program may do. */
export function ConsentPage(props: ConsentProps): VNode {
  const { asked, accounts, email, form, path } = props;
  const { clientName } = asked;
  return (
    <NarrowPage title={`Connect ${clientName}`} isDecision>
      <p>
        <strong>{clientName}</strong> asks to use your Souk account. <Return asked={asked} />
      </p>
      <p class="hint">
        The program calls itself “{clientName}”; Souk has not checked the name
        {asked.publishedAt && (
          <>
            . Its description is published by <strong>{asked.publishedAt}</strong>
          </>
        )}
        . Continue only if you started this.
      </p>
      {accounts.closed.length > 0 && <ClosedAccounts accounts={accounts.closed} path={path} />}
      {accounts.open.length > 0 ? (
        <DecisionForm {...props} />
      ) : (
        <>
          {accounts.closed.length === 0 && (
            <div class="notice warn" role="alert">
              <p>
                You have no account to which you may connect programs: that requires {rolesAble('keys')}. Ask
                an owner or admin of your account for such a role, or create an account of your own on{' '}
                <a href="/profile">your profile</a>. Then <a href={path}>open this page again</a>.
              </p>
            </div>
          )}
          <PostForm action={path} form={form}>
            <button type="submit" name="decision" value="deny">
              Cancel
            </button>
          </PostForm>
        </>
      )}
      <div class="signed-in hint">
        <span>
          Signed in as <strong>{email}</strong>
        </span>
        <PostButton action="/sign-out" fields={{ to: path }} class="quiet small">
          Use another profile
        </PostButton>
      </div>
    </NarrowPage>
  );
}

/** Names where the browser goes afterwards. */
function Return({ asked: { returnsTo } }: { asked: ConnectionRequest }): VNode {
  if (!returnsTo) return <>You return to your device.</>;
  const origin = new URL(returnsTo.origin);
  const { hostname, host } = origin;
  return isLoopback(origin) ? (
    <>
      You return to <strong>{hostname}</strong>, a program on this computer.
    </>
  ) : (
    <>
      You return to <strong>{host}</strong>.
    </>
  );
}

/** Explains accounts that are not among the choices. */
function ClosedAccounts({ accounts, path }: { accounts: readonly Membership[]; path: string }): VNode {
  const names = listInWords(accounts.map(({ accountName }) => accountName));
  return (
    <p>
      {names} {accounts.length === 1 ? 'requires' : 'require'} single sign-on. To connect a program there,{' '}
      <a href={singleSignOnPath(path)}>sign in through it</a>.
    </p>
  );
}

function DecisionForm({ accounts, asked, offered, hasTestData, form, path }: ConsentProps): VNode {
  const options = accounts.open.map(
    ({ accountId, accountName, hasUnits }) =>
      [String(accountId), hasUnits ? accountName : `${accountName} (no plan or pack)`] as const,
  );
  const cap = { type: 'number', min: 1, required: true } as const;
  return (
    <PostForm action={path} form={form}>
      <Choice name="account" label="Account" options={options} />
      {hasTestData ? <DataChoice accounts={accounts} /> : <HiddenFields fields={{ data: 'live' }} />}
      <ScopeChoice asked={asked} offered={offered} form={form} />
      <fieldset>
        <legend>Spend at most</legend>
        <div class="pair">
          <Fields
            rows={[
              ['capDay', 'Units a day', cap],
              ['capMonth', 'Units a month', cap],
            ]}
          />
        </div>
        <p class="hint">
          Calls over the daily cap are refused until <Midnight />, and calls over the monthly cap until the
          first of the next month.
        </p>
      </fieldset>
      <Choice name="days" label="Ends after" options={ENDS} />
      <div class="buttons">
        <button type="submit" name="decision" value="allow" class="primary">
          Allow
        </button>
        <button type="submit" name="decision" value="deny" formNoValidate>
          Cancel
        </button>
      </div>
      <p class="hint">You can change or revoke the connection on the Keys page of the account.</p>
    </PostForm>
  );
}

const ENDS = [
  ['1', '1 day'],
  ['7', '7 days'],
  ['30', '30 days'],
  ['90', '90 days'],
  ['365', '365 days'],
] as const;

function DataChoice({ accounts: { chosen } }: { accounts: ConsentAccounts }): VNode {
  const plans = <a href={`/account/${chosen?.accountId}/plans`}>a plan or pack</a>;
  return (
    <Choice
      name="data"
      label="Data"
      options={[
        ['live', 'Live data, for units of the account'],
        ['test', 'Test data: generated, free'],
      ]}
      hint={
        chosen?.hasUnits ? undefined : <>Calls for live data are refused until the account has {plans}.</>
      }
    />
  );
}

function ScopeChoice(props: { asked: ConnectionRequest; offered: Offered; form: FormState }): VNode {
  const { asked, offered, form } = props;
  return (
    <fieldset>
      <legend>{asked.clientName} may</legend>
      <label class="check">
        <input type="checkbox" checked disabled />
        <span>Read data: your units, usage, jobs and results</span>
      </label>
      <ScopeCheck name="calls" form={form} scopes={offered.calls}>
        , which spends units
      </ScopeCheck>
      <ScopeCheck name="automation" form={form} scopes={offered.automation}>
        , which continue without you and spend units
      </ScopeCheck>
      {offered.webhooks.length > 0 && <ScopeCheck name="webhooks" form={form} scopes={offered.webhooks} />}
      <p class="hint">It cannot see or create keys, buy anything, or change members and settings.</p>
    </fieldset>
  );
}

function ScopeCheck(props: {
  name: string;
  form: FormState;
  scopes: readonly Scope[];
  children?: ComponentChildren;
}): VNode {
  const { name, form, scopes, children } = props;
  const fault = form.faults[name];
  const text = scopesInWords(scopes);
  return (
    <div class="field">
      <label class="check">
        <input
          type="checkbox"
          name={name}
          value="1"
          checked={form.values[name] === '1'}
          aria-invalid={fault ? 'true' : undefined}
          aria-describedby={fault && `${name}-fault`}
        />
        <span>
          {text.charAt(0).toUpperCase() + text.slice(1)}
          {children}
        </span>
      </label>
      {fault && (
        <p class="fault" id={`${name}-fault`}>
          {fault}
        </p>
      )}
    </div>
  );
}
