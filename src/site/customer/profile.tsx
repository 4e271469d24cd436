import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { VNode } from 'preact';
import { v7 as uuid } from 'uuid';
import { z } from 'zod';
import { createAccountOf } from '../../accounts/accounts.ts';
import { type Membership, membershipsOf, ROLE_TEXTS } from '../../accounts/members.ts';
import { changePassword, findPassword } from '../../accounts/passwords.ts';
import { endEmailConfirmations, findPerson, isEmailTaken, setDirectUnits } from '../../accounts/people.ts';
import { queueMail } from '../../outbox/mail/mails.ts';
import { inTransaction } from '../../platform/db/transaction.ts';
import { SoukError } from '../../platform/errors.ts';
import { Card, Facts, Notice } from '../kit/elements.tsx';
import {
  Choice,
  CurrentPassword,
  Field,
  NewPasswordField,
  newPassword,
  PostButton,
  PostForm,
  presentPassword,
  Submit,
} from '../kit/form.tsx';
import { FormRefused, type FormState, NO_INPUT, postForm, readForm } from '../kit/form-request.ts';
import { Page } from '../kit/layout.tsx';
import { sendPage } from '../kit/render.tsx';
import { tableOf } from '../kit/table.tsx';
import { counted } from '../kit/words.tsx';
import { noteActs } from '../page-acts.ts';
import { notify, type Pages } from '../pages.ts';
import { personOf, rememberDevice } from '../session.ts';
import { accountName, emailField, refuseTooMany, verifyPassword } from '../visitor/sign-in.tsx';
import { PersonData, registerPersonData } from './own-data.tsx';

const PATH = '/profile';

const passwordChange = z.object({ current: presentPassword, password: newPassword });

const newAccount = z.object({ name: accountName });

const emailChange = z.object({ email: emailField, password: presentPassword });

/** The most accounts of one person. */
const MOST_ACCOUNTS = 50;

/** A form of the page that is shown again with its faults. */
interface ShownForms {
  password?: FormState;
  email?: FormState;
  account?: FormState;
  erasure?: FormState;
}

/** Registers the profile of the person who has signed in: accounts, e-mail address, password, personal data. */
export function registerProfile(scope: FastifyInstance, pages: Pages): void {
  const { database, clock, mail } = pages;
  const show = (name: keyof ShownForms) => (reply: FastifyReply, form: FormState, status?: number) =>
    showProfile(pages, reply, { [name]: form }, status);

  scope.get(PATH, async (_request, reply) => showProfile(pages, reply, {}));
  postForm(scope, `${PATH}/password`, passwordChange, show('password'), async (input, request, reply) => {
    const { current, password } = input;
    const { personId, tokenHash } = personOf(request);
    const stored = await verifyPassword(pages, request, reply, { field: 'current', password: current });
    const now = clock.now();
    const facts = { at: new Date(now).toISOString() };
    const digest = await changePassword(database, stored, { password, session: tokenHash, now }, (client) =>
      notify(pages, client, { personId, kind: 'password_changed', facts }),
    );
    if (digest === null) throw new FormRefused(400, { current: 'Incorrect password' });
    rememberDevice(reply, digest);
    return `${PATH}?changed=1`;
  });
  postForm(scope, `${PATH}/accounts`, newAccount, show('account'), async ({ name }, request, reply) => {
    refuseTooMany(pages, reply, await pages.attempts.countSignUp(request.ip));
    const { personId } = personOf(request);
    if ((await membershipsOf(database, personId)).length >= MOST_ACCOUNTS)
      throw new FormRefused(409, {
        name: `cannot be created: you already have ${MOST_ACCOUNTS} accounts, the most that are allowed`,
      });
    const accountId = await createAccountOf(database, personId, name, clock.now());
    noteActs(request, { action: 'account.created', accountId });
    return `/account/${accountId}/plans`;
  });
  scope.post(`${PATH}/explore`, async (request, reply) => {
    const form = readForm(directChoice, request.body);
    if (form.ok) await setDirectUnits(database, personOf(request).personId, form.input.units);
    return reply.redirect(`${PATH}#explore`, 303);
  });
  registerPersonData(scope, pages, show('erasure'));
  if (mail === 'none') return;
  registerSendConfirmation(scope, pages);
  // The link to the new address takes effect when it is opened. The present address is informed.
  postForm(scope, EMAIL_PATH, emailChange, show('email'), async ({ email, password }, request, reply) => {
    const { personId, email: present } = personOf(request);
    await verifyPassword(pages, request, reply, { field: 'password', password });
    if (email === present) throw new FormRefused(400, { email: 'is already your address' });
    if (await isEmailTaken(database, email))
      throw new FormRefused(409, { email: 'belongs to somebody else' });
    refuseTooMany(pages, reply, await pages.attempts.countMail(personId));
    const facts = { requestId: uuid() };
    await inTransaction(database, async (client) => {
      await endEmailConfirmations(client, personId);
      const confirm = {
        personId,
        kind: 'confirm_new_email',
        to: email,
        facts: { ...facts, present },
      } as const;
      await queueMail(client, confirm, clock.now());
      await notify(pages, client, { personId, kind: 'email_changing', facts: { ...facts, newEmail: email } });
    });
    return '/profile?sent=1';
  });
}

async function showProfile(pages: Pages, reply: FastifyReply, forms: ShownForms, status?: number) {
  const { request } = reply;
  const { email, name, personId, directUnits } = personOf(request);
  const { changed, sent } = request.query as Record<string, string | undefined>;
  const [banner, accounts, password] = await Promise.all([
    confirmBanner(pages, request),
    membershipsOf(pages.database, personId),
    findPassword(pages.database, email),
  ]);
  return sendPage(
    reply,
    <Page title="Profile">
      {changed === '1' && (
        <Done>Your password has been changed. All other sessions have been signed out.</Done>
      )}
      {sent === '1' && <Done>A mail is on its way. Its link works once, within 24 hours.</Done>}
      {banner}
      <Card title="You">
        <Facts
          facts={[
            ['E-mail address', email],
            ['Name', name],
          ]}
        />
      </Card>
      <Accounts accounts={accounts} form={forms.account ?? NO_INPUT} />
      {pages.mail !== 'none' && <ChangeEmail form={forms.email ?? NO_INPUT} />}
      {password && <ChangePassword form={forms.password ?? NO_INPUT} />}
      {password && (
        <Card title="Two-factor sign-in">
          <p>
            <a href={`${PATH}/two-factor`}>Two-factor sign-in with an authenticator app</a>
          </p>
        </Card>
      )}
      <Explore units={directUnits} />
      <PersonData accounts={accounts} form={forms.erasure ?? NO_INPUT} />
    </Page>,
    status,
  );
}

const AccountTable = tableOf<Membership>('Your accounts', 'You are not a member of any account.', [
  ['Account', ({ accountId, accountName: of }) => <a href={`/account/${accountId}`}>{of}</a>, 'row'],
  ['Role', ({ role }) => ROLE_TEXTS[role][0]],
  ['State', ({ isActive }) => (isActive ? 'Active' : 'Disabled')],
]);

function Accounts({ accounts, form }: { accounts: readonly Membership[]; form: FormState }): VNode {
  return (
    <Card title="Accounts">
      <AccountTable rows={accounts} />
      <details open={Object.keys(form.faults).length > 0}>
        <summary>New account</summary>
        <PostForm action={`${PATH}/accounts`} form={form}>
          <Field name="name" label="Name or company" required maxLength={100} />
          <button type="submit">Create account</button>
        </PostForm>
      </details>
    </Card>
  );
}

const DIRECT = [0, 1, 2, 5, 10, 20];

const directChoice = z.object({
  units: z.coerce.number().refine((units) => DIRECT.includes(units)),
});

/** Up to which cost the pages for looking at data fetch without showing it first. */
function Explore({ units }: { units: number }): VNode {
  const options = DIRECT.map(
    (one) =>
      [
        String(one),
        one === 0 ? 'Show the cost first' : `Fetch up to ${counted(one, 'unit')} directly`,
      ] as const,
  );
  return (
    <Card title="Explore" id="explore">
      <PostForm
        action={`${PATH}/explore`}
        form={{ values: { units: String(units) }, faults: {} }}
        class="inline"
      >
        <Choice name="units" label="Calls of the Explore pages" options={options} />
        <button type="submit">Save</button>
        <p class="hint">
          A call that costs more shows its cost first. Further parts of a page have buttons with their cost.
        </p>
      </PostForm>
    </Card>
  );
}

function Done({ children }: { children: string }): VNode {
  return (
    <Notice tone="good" role="status">
      {children}
    </Notice>
  );
}

function ChangePassword({ form }: { form: FormState }): VNode {
  return (
    <Card title="Change password">
      <PostForm action={`${PATH}/password`} form={form}>
        <CurrentPassword name="current" />
        <NewPasswordField label="New password" hint="All other sessions are signed out." />
        <Submit>Change password </Submit>
      </PostForm>
    </Card>
  );
}

const EMAIL_PATH = '/profile/email';

function ChangeEmail({ form }: { form: FormState }): VNode {
  return (
    <Card title="Change e-mail address">
      <PostForm action={EMAIL_PATH} form={form}>
        <Field
          name="email"
          label="New e-mail address"
          type="email"
          autocomplete="email"
          required
          hint="The change takes effect when you open the link in the mail to the new address."
        />
        <CurrentPassword name="password" id="email-password" label="Password" />
        <button type="submit">Send the link</button>
      </PostForm>
    </Card>
  );
}

const CONFIRM_PATH = '/profile/confirm-email';

/** Registers the button that sends another link to confirm the address. */
function registerSendConfirmation(scope: FastifyInstance, pages: Pages): void {
  scope.post(CONFIRM_PATH, async (request: FastifyRequest, reply: FastifyReply) => {
    const { personId } = personOf(request);
    const retryAfterSeconds = await pages.attempts.countMail(personId);
    if (retryAfterSeconds !== null)
      throw new SoukError('TOO_MANY_ATTEMPTS', {
        message: 'Five mails have been sent within an hour. Try again later.',
        retryAfterSeconds,
      });
    const facts = { requestId: uuid() };
    await notify(pages, pages.database, { personId, kind: 'confirm_email', facts });
    return reply.redirect('/profile?sent=1', 303);
  });
}

/** The reminder to confirm the address; null if it is confirmed, or if this installation has no mails. */
export async function confirmBanner(
  { database, mail }: Pick<Pages, 'database' | 'mail'>,
  request: FastifyRequest,
): Promise<VNode | null> {
  if (mail === 'none' || request.entered?.isStaff) return null;
  const person = await findPerson(database, personOf(request).personId);
  if (!person || person.emailConfirmedAt !== null) return null;
  return (
    <section class="notice warn row" aria-label="Confirm your address">
      <p>
        <strong>Confirm your e-mail address.</strong> Open the link in the mail to {person.email}. Notices go
        only to a confirmed address.
      </p>
      <PostButton action={CONFIRM_PATH} class="push">
        Send again
      </PostButton>
    </section>
  );
}
