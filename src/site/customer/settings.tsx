import type { FastifyInstance, FastifyReply } from 'fastify';
import type { VNode } from 'preact';
import { z } from 'zod';
import { addressFor } from '../../accounts/account-address.ts';
import { renameAccount } from '../../accounts/accounts.ts';
import { isAble } from '../../accounts/members.ts';
import { requireSingleSignOn, requiresSingleSignOn } from '../../accounts/single-sign-on.ts';
import { erasureOf } from '../../operator/personal-data/erasure.ts';
import { setTopicsOff, topicsOff } from '../../outbox/mail/choices.ts';
import { TOPICS, type Topic } from '../../outbox/mail/kinds/content.ts';
import { SoukError } from '../../platform/errors.ts';
import { Card, Facts, Notice } from '../kit/elements.tsx';
import { Field, PostButton, PostForm } from '../kit/form.tsx';
import { type FormState, NO_INPUT, postForm, readValues } from '../kit/form-request.ts';
import { Page } from '../kit/layout.tsx';
import { sendPage } from '../kit/render.tsx';
import type { Pages } from '../pages.ts';
import { customerOf } from '../session.ts';
import { accountName, singleSignOnPath } from '../visitor/sign-in.tsx';
import { OwnData, registerOwnData } from './own-data.tsx';

const PATH = '/account/settings';

const nameForm = z.object({ name: accountName });

/** A form of the page that is shown again with its faults. */
interface ShownForms {
  name?: FormState;
  erasure?: FormState;
}

/** Registers the settings of the account: its name, and who it belongs to. */
export function registerSettings(scope: FastifyInstance, pages: Pages): void {
  scope.get(PATH, async (_request, reply) => showSettings(pages, reply, {}));
  registerSsoSwitch(scope, pages);
  const showName = (reply: FastifyReply, form: FormState, status?: number) =>
    showSettings(pages, reply, { name: form }, status);
  postForm(scope, `${PATH}/name`, nameForm, showName, async ({ name }, request) => {
    await renameAccount(pages.database, customerOf(request).liveAccountId, name);
    return `${PATH}?saved=1`;
  });
}

/** Registers the download and the erasure of the account's data, whose forms are on the page of the settings. */
export function registerAccountData(scope: FastifyInstance, pages: Pages): void {
  registerOwnData(scope, pages, (reply, form, status) =>
    showSettings(pages, reply, { erasure: form }, status),
  );
}

/** Shows the settings of the account, with forms that were refused. */
async function showSettings(pages: Pages, reply: FastifyReply, forms: ShownForms, status?: number) {
  const { request } = reply;
  const { accountName: name, liveAccountId: accountId, personId, role, isStaff, isSso } = customerOf(request);
  const { saved } = request.query as Record<string, string | undefined>;
  const [erasure, requiresSso, off] = await Promise.all([
    erasureOf(pages.database, accountId),
    requiresSingleSignOn(pages.database, accountId),
    topicsOff(pages.database, { accountId, personId }),
  ]);
  return sendPage(
    reply,
    <Page title="Settings">
      {saved === '1' && (
        <Notice tone="good" role="status">
          Your choice has been saved.
        </Notice>
      )}
      <Card title="Account">
        <Facts
          facts={[
            ['Name', name],
            ['Account number', accountId],
          ]}
        />
        {isAble(role, 'people') && <Rename name={name} form={forms.name ?? NO_INPUT} />}
        <p>
          Your address, password and two-factor sign-in are in your <a href="/profile">profile</a>.
        </p>
      </Card>
      {pages.openId && isAble(role, 'people') && (
        <SsoSwitch
          name={pages.openId.settings.name}
          accountId={accountId}
          isOn={requiresSso}
          mayTurnOn={isSso}
        />
      )}
      {pages.mail !== 'none' && !isStaff && <NoticeSwitches off={off} />}
      {isAble(role, 'ownership') && <OwnData erasure={erasure} form={forms.erasure ?? NO_INPUT} />}
    </Page>,
    status,
  );
}

function Rename({ name, form }: { name: string; form: FormState }): VNode {
  const shown = { ...form, values: { name, ...form.values } };
  return (
    <details open={Object.keys(form.faults).length > 0}>
      <summary>Rename</summary>
      <PostForm action={`${PATH}/name`} form={shown}>
        <Field name="name" label="Name or company" required maxLength={100} />
        <button type="submit">Save</button>
      </PostForm>
    </details>
  );
}

const SSO_PATH = `${PATH}/single-sign-on`;

/** Registers the switch that makes single sign-on a condition of seeing the pages of the account. */
function registerSsoSwitch(scope: FastifyInstance, { database, openId }: Pages): void {
  if (openId === null) return;
  scope.post(`${SSO_PATH}/require`, async (request, reply) => {
    const { liveAccountId, isSso } = customerOf(request);
    if (!isSso)
      throw new SoukError('KEY_FORBIDDEN', {
        message: `Sign in with ${openId.settings.name} first, which shows that it works for you.`,
      });
    await requireSingleSignOn(database, liveAccountId, true);
    return reply.redirect(`${PATH}?saved=1`, 303);
  });
  scope.post(`${SSO_PATH}/release`, async (request, reply) => {
    await requireSingleSignOn(database, customerOf(request).liveAccountId, false);
    return reply.redirect(`${PATH}?saved=1`, 303);
  });
}

/** @param props.mayTurnOn whether the viewer has signed in by it, so that not all members are locked out. */
function SsoSwitch(props: { name: string; accountId: number; isOn: boolean; mayTurnOn: boolean }): VNode {
  const { name, accountId, isOn, mayTurnOn } = props;
  return (
    <Card title="Single sign-on">
      <p>
        {isOn
          ? `Members see the pages of this account only after signing in with ${name}.`
          : `Members sign in with a password or with ${name}.`}
      </p>
      {isOn || mayTurnOn ? (
        <PostButton action={`${SSO_PATH}/${isOn ? 'release' : 'require'}`}>
          {isOn ? 'Allow passwords' : `Require ${name}`}
        </PostButton>
      ) : (
        <p class="hint">
          To require it of all members,{' '}
          <a href={`${singleSignOnPath(addressFor(accountId, PATH))}&continue=1`}>sign in with {name}</a>{' '}
          yourself first.
        </p>
      )}
      <p class="hint">API keys work either way.</p>
    </Card>
  );
}

const NOTICES_PATH = '/account/settings/notices';

const ALL = Object.keys(TOPICS) as Topic[];

/** Registers the form with which a member switches notices of the account on and off. */
export function registerNotices(scope: FastifyInstance, { database, mail }: Pages): void {
  if (mail === 'none') return;
  scope.post(NOTICES_PATH, async (request, reply) => {
    const chosen = readValues(request.body);
    const off = ALL.filter((topic) => chosen[topic] !== 'on');
    const { liveAccountId: accountId, personId } = customerOf(request);
    await setTopicsOff(database, { accountId, personId }, off);
    return reply.redirect('/account/settings?saved=1', 303);
  });
}

function NoticeSwitches({ off }: { off: readonly Topic[] }): VNode {
  return (
    <Card title="Notices by e-mail">
      <PostForm action={NOTICES_PATH}>
        {ALL.map((topic) => (
          <p key={topic}>
            <label>
              <input type="checkbox" name={topic} checked={!off.includes(topic)} /> {TOPICS[topic]}
            </label>
          </p>
        ))}
        <p class="hint">
          Your choice applies to your mails about this account. Your role decides which of them you receive.
          Mails about security cannot be switched off.
        </p>
        <button type="submit">Save</button>
      </PostForm>
    </Card>
  );
}
