import type { FastifyInstance, FastifyReply } from 'fastify';
import type { ClientBase } from 'pg';
import type { VNode } from 'preact';
import { z } from 'zod';
import { acceptInvitation, findInvitation, type Invitation } from '../../accounts/invitations.ts';
import { ROLE_TEXTS } from '../../accounts/members.ts';
import { hashPassword, setPassword } from '../../accounts/passwords.ts';
import { createPerson, isEmailTaken } from '../../accounts/people.ts';
import { writeAct } from '../../operator/account-audit.ts';
import { inTransaction } from '../../platform/db/transaction.ts';
import { SoukError } from '../../platform/errors.ts';
import { Field, HiddenFields, NewPasswordField, newPassword, PostForm, Submit } from '../kit/form.tsx';
import { FormRefused, type FormState, NO_INPUT, postForm, readForm } from '../kit/form-request.ts';
import { NarrowPage } from '../kit/layout.tsx';
import { sendPage } from '../kit/render.tsx';
import type { Pages } from '../pages.ts';
import { returnQuery, signInPerson } from '../session.ts';
import { accountName, refuseTooMany, SingleSignOn } from './sign-in.tsx';

const PATH = '/invitation';

const token = z.string().regex(/^[\w-]{43}$/);
const acceptForm = z.object({ token });
const joinForm = z.object({ token, name: accountName, password: newPassword });

/**
 * Registers the page of an invitation. Who has a profile with the invited address signs in and accepts; who has none chooses a
 * name and a password. The link, which was sent to the address, confirms it.
 */
export function registerInvitation(scope: FastifyInstance, pages: Pages): void {
  const { database, clock } = pages;
  const show = (reply: FastifyReply, form: FormState, status?: number) =>
    showInvitation(pages, reply, form, status);
  scope.get(PATH, async (request, reply) => {
    const form = readForm(acceptForm, request.query);
    return show(reply, { values: form.values, faults: {} });
  });
  postForm(scope, `${PATH}/accept`, acceptForm, show, async ({ token: given }, request) => {
    const { session } = request;
    if (!session) throw spent();
    const joined = noteJoined(session.personId);
    const invitation = await acceptInvitation(database, given, session, clock.now(), joined);
    if (!invitation) throw spent();
    return `/account/${invitation.accountId}`;
  });
  postForm(
    scope,
    `${PATH}/join`,
    joinForm,
    show,
    async ({ token: given, name, password }, request, reply) => {
      const invitation = await findInvitation(database, given, clock.now());
      if (!invitation) throw spent();
      refuseTooMany(pages, reply, await pages.attempts.countSignUp(request.ip));
      const digest = await hashPassword(password);
      const now = clock.now();
      const personId = await inTransaction(database, async (client) => {
        const person = await createPerson(client, { email: invitation.email, name }, now);
        if (!person)
          throw new FormRefused(409, { '': 'This address has a profile already: sign in instead.' });
        await setPassword(client, person.id, digest, now);
        const who = { personId: person.id, email: person.email };
        if (!(await acceptInvitation(client, given, who, now, noteJoined(person.id)))) throw spent();
        return person.id;
      });
      await signInPerson(pages, request, reply, { personId, digest });
      return `/account/${invitation.accountId}`;
    },
  );
}

/** Sends the page of the invitation whose token a form has. */
async function showInvitation(pages: Pages, reply: FastifyReply, form: FormState, status?: number) {
  const { database, clock } = pages;
  const { session } = reply.request;
  const parsed = token.safeParse(form.values.token);
  const invitation = parsed.success ? await findInvitation(database, parsed.data, clock.now()) : null;
  if (!invitation || !parsed.success) throw spent();
  const { accountName: name, role, email } = invitation;
  return sendPage(
    reply,
    <NarrowPage title="Invitation" heading={`Invitation to ${name}`}>
      <p>
        For <strong>{email}</strong>, as {ROLE_TEXTS[role][0].toLowerCase()}: {ROLE_TEXTS[role][1]}.
      </p>
      {session?.email === email ? (
        <PostForm action={`${PATH}/accept`} form={form}>
          <HiddenFields fields={{ token: parsed.data }} />
          <Submit>Accept</Submit>
        </PostForm>
      ) : (
        await strangerPart(pages, invitation, { token: parsed.data, form, signedInAs: session?.email })
      )}
    </NarrowPage>,
    status,
  );
}

/** What somebody sees who has not signed in with the invited address. */
async function strangerPart(
  { database, openId }: Pages,
  { email }: Invitation,
  about: { token: string; form: FormState; signedInAs: string | undefined },
): Promise<VNode> {
  const { token: given, form, signedInAs } = about;
  const signIn = `/sign-in${returnQuery(`${PATH}?token=${given}`)}`;
  if (signedInAs !== undefined)
    return (
      <p>
        You are signed in as {signedInAs}. Sign out, and open the link again as {email}.
      </p>
    );
  if (await isEmailTaken(database, email))
    return (
      <p>
        <a href={signIn}>Sign in</a> to accept it.
      </p>
    );
  return (
    <>
      <PostForm action={`${PATH}/join`} form={form.values.name === undefined ? NO_INPUT : form}>
        <HiddenFields fields={{ token: given }} />
        <Field name="name" label="Your name" autocomplete="name" required maxLength={100} />
        <NewPasswordField label="Password" />
        <Submit>Accept</Submit>
      </PostForm>
      {openId?.settings.hasNewPeople && <SingleSignOn openId={openId} to={`${PATH}?token=${given}`} />}
    </>
  );
}

function noteJoined(personId: number) {
  return (client: ClientBase, { id, accountId, role }: Invitation) =>
    writeAct(client, personId, { accountId, action: 'member.joined', target: `invitation ${id}, ${role}` });
}

function spent(): SoukError {
  return new SoukError('NOT_FOUND', {
    message: 'This invitation has been used, withdrawn or has expired. Ask for a new one.',
  });
}
