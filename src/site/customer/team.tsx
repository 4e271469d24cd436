import type { FastifyInstance, FastifyReply } from 'fastify';
import type { ClientBase } from 'pg';
import type { VNode } from 'preact';
import { v7 as uuid } from 'uuid';
import { z } from 'zod';
import { revokeKeysOf } from '../../accounts/account-keys.ts';
import {
  type Invitation,
  InvitationRefused,
  invite,
  listInvitations,
  withdrawInvitation,
} from '../../accounts/invitations.ts';
import {
  isAble,
  LastOwner,
  listMembers,
  lockedRole,
  type Member,
  ROLE_TEXTS,
  ROLES,
  type Role,
  removeMember,
  setMember,
} from '../../accounts/members.ts';
import { queueMail } from '../../outbox/mail/mails.ts';
import { SoukError } from '../../platform/errors.ts';
import { ButtonLink, Card, Notice } from '../kit/elements.tsx';
import { Choice, HiddenFields, PostButton, PostForm, Submit } from '../kit/form.tsx';
import { FormRefused, type FormState, NO_INPUT, postForm } from '../kit/form-request.ts';
import { Page } from '../kit/layout.tsx';
import { sendPage } from '../kit/render.tsx';
import { Table } from '../kit/table.tsx';
import { Time } from '../kit/words.tsx';
import { noteActs } from '../page-acts.ts';
import type { Pages } from '../pages.ts';
import { asMember, customerOf } from '../session.ts';
import { EmailField, emailField, refuseTooMany } from '../visitor/sign-in.tsx';

const PATH = '/account/team';

const role = z.enum(ROLES);
const id = z
  .string()
  .regex(/^[1-9]\d{0,14}$/)
  .transform(Number);

const inviteForm = z.object({ email: emailField, role });
const roleForm = z.object({ person: id, role });
const removeForm = z.object({ person: id, keys: z.literal('on').optional() });
const withdrawForm = z.object({ invitation: id });

/** Registers the page of an account's members: invitations, roles, removal. */
export function registerTeam(scope: FastifyInstance, pages: Pages): void {
  const { database, clock } = pages;
  const show = (reply: FastifyReply, form: FormState, status?: number) =>
    showTeam(pages, reply, form, status);

  scope.get(PATH, async (_request, reply) => show(reply, NO_INPUT));
  postForm(scope, `${PATH}/invite`, inviteForm, show, async ({ email, role }, request, reply) => {
    const { liveAccountId: accountId, accountName, personId, email: by, role: own } = customerOf(request);
    requireOwnerFor(own, role);
    if (pages.mail === 'none')
      throw new FormRefused(409, { '': 'This service sends no mails, so it cannot invite anybody.' });
    refuseTooMany(pages, reply, await pages.attempts.countSignUp(request.ip));
    await asMember(pages, request, 'people', async (client, present) => {
      requireOwnerFor(present, role);
      const asked = { accountId, email, role, by: personId };
      const invitationId = await invite(client, asked, clock.now()).catch((error: unknown) => {
        throw error instanceof InvitationRefused ? new FormRefused(409, { email: error.message }) : error;
      });
      const facts = { requestId: uuid(), accountName, by, role, invitationId };
      await queueMail(client, { accountId, kind: 'invitation', to: email, facts }, clock.now());
      noteActs(request, { action: 'member.invited', target: `invitation ${invitationId}, ${role}` });
    });
    return `${PATH}?invited=1`;
  });
  postForm(scope, `${PATH}/withdraw`, withdrawForm, show, async ({ invitation }, request) => {
    const withdrawn = await withdrawInvitation(database, customerOf(request).liveAccountId, invitation);
    if (!withdrawn) throw new SoukError('NOT_FOUND', { message: 'This invitation is not open any more.' });
    noteActs(request, { action: 'invitation.withdrawn', target: `invitation ${invitation}` });
    return PATH;
  });
  postForm(scope, `${PATH}/role`, roleForm, show, async ({ person, role }, request) => {
    const { liveAccountId: accountId } = customerOf(request);
    await asMember(pages, request, 'people', async (client, own) => {
      requireOwnerFor(own, role, await memberOf(client, accountId, person));
      await setMember(client, { accountId, personId: person, role }, clock.now());
    }).catch(refuseLastOwner);
    noteActs(request, { action: 'member.changed', target: `person ${person}, ${role}` });
    return PATH;
  });
  postForm(scope, `${PATH}/remove`, removeForm, show, async ({ person, keys }, request) => {
    const { liveAccountId: accountId } = customerOf(request);
    await asMember(pages, request, 'people', async (client, own) => {
      requireOwnerFor(own, await memberOf(client, accountId, person));
      await removeMember(client, { accountId, personId: person }, clock.now());
      if (keys) await revokeKeysOf(client, accountId, person, clock.now());
    }).catch(refuseLastOwner);
    noteActs(request, { action: 'member.removed', target: `person ${person}` });
    return PATH;
  });
}

/** @throws SoukError NOT_FOUND. */
async function memberOf(client: ClientBase, accountId: number, personId: number): Promise<Role> {
  const role = await lockedRole(client, { accountId, personId });
  if (role === null) throw new SoukError('NOT_FOUND', { message: 'This account has no such member.' });
  return role;
}

/** @throws SoukError KEY_FORBIDDEN unless an owner gives or takes the role of an owner. */
function requireOwnerFor(own: Role, ...roles: readonly Role[]): void {
  if (!roles.includes('owner') || isAble(own, 'ownership')) return;
  throw new SoukError('KEY_FORBIDDEN', { message: 'Only an owner makes, changes or removes owners.' });
}

function refuseLastOwner(error: unknown): never {
  if (error instanceof LastOwner)
    throw new FormRefused(409, { '': 'An account needs an owner. Make somebody else an owner first.' });
  throw error;
}

async function showTeam({ database, clock }: Pages, reply: FastifyReply, form: FormState, status?: number) {
  const { liveAccountId: accountId, personId, role, isStaff } = customerOf(reply.request);
  const isInvited = (reply.request.query as { invited?: string }).invited === '1';
  const [members, invitations] = await Promise.all([
    listMembers(database, accountId),
    listInvitations(database, accountId, clock.now()),
  ]);
  const mayChange = isAble(role, 'people');
  const given = isAble(role, 'ownership') ? ROLES : ROLES.filter((one) => one !== 'owner');
  const fault = form.faults.person ?? form.faults.invitation ?? form.faults[''];
  return sendPage(
    reply,
    <Page title="Team">
      {isInvited && (
        <Notice tone="good" role="status">
          The invitation is on its way. Its link works once, within seven days.
        </Notice>
      )}
      {fault && (
        <Notice tone="bad" role="alert">
          {fault}
        </Notice>
      )}
      <Members members={members} self={personId} given={mayChange ? given : []} />
      {invitations.length > 0 && (
        <>
          <h2>Open invitations</h2>
          <Invitations invitations={invitations} mayChange={mayChange} />
        </>
      )}
      {(mayChange || isStaff) && (
        <p>
          <ButtonLink to="/account/audit">Audit log</ButtonLink>
        </p>
      )}
      {mayChange && (
        <Card title="Invite somebody">
          <PostForm action={`${PATH}/invite`} form={form}>
            <EmailField autocomplete="off" />
            <Choice name="role" label="Role" options={textsOf(given)} preset="developer" />
            <Submit>Send the invitation</Submit>
          </PostForm>
        </Card>
      )}
    </Page>,
    status,
  );
}

const textsOf = (roles: readonly Role[]) =>
  roles.map((one) => [one, `${ROLE_TEXTS[one][0]}: ${ROLE_TEXTS[one][1]}`] as const);

/** @param props.given the roles that the viewer may give; empty: the viewer changes nothing. */
function Members(props: { members: readonly Member[]; self: number; given: readonly Role[] }): VNode {
  const { members, self, given } = props;
  const mayChange = (member: Member) => given.includes(member.role);
  return (
    <Table
      name="Members"
      rows={members}
      columns={[
        ['E-mail address', ({ email, personId }) => (personId === self ? `${email} (you)` : email), 'row'],
        ['Name', ({ name }) => name],
        [
          'Role',
          (member) =>
            mayChange(member) ? <RoleForm member={member} given={given} /> : ROLE_TEXTS[member.role][0],
        ],
        ['Since', ({ since }) => <Time at={since} />],
        ['Remove', (member) => (mayChange(member) ? <RemoveForm member={member} /> : '')],
      ]}
    />
  );
}

function RoleForm({ member, given }: { member: Member; given: readonly Role[] }): VNode {
  return (
    <PostForm action={`${PATH}/role`} class="row">
      <HiddenFields fields={{ person: String(member.personId) }} />
      <select name="role" aria-label={`Role of ${member.email}`}>
        {given.map((one) => (
          <option key={one} value={one} selected={one === member.role}>
            {ROLE_TEXTS[one][0]}
          </option>
        ))}
      </select>
      <button type="submit" class="small">
        Change
      </button>
    </PostForm>
  );
}

function RemoveForm({ member }: { member: Member }): VNode {
  return (
    <PostForm
      action={`${PATH}/remove`}
      class="row"
      confirm={`Remove ${member.email} from this account? This person is signed out of it immediately.`}
    >
      <HiddenFields fields={{ person: String(member.personId) }} />
      <label>
        <input type="checkbox" name="keys" checked /> Revoke their keys
      </label>
      <button type="submit" class="small danger">
        Remove
      </button>
    </PostForm>
  );
}

function Invitations(props: { invitations: readonly Invitation[]; mayChange: boolean }): VNode {
  const { invitations, mayChange } = props;
  return (
    <Table
      name="Open invitations"
      rows={invitations}
      columns={[
        ['E-mail address', ({ email }) => email, 'row'],
        ['Role', ({ role: of }) => ROLE_TEXTS[of][0]],
        ['Valid until', ({ expiresAt }) => <Time at={expiresAt} />],
        [
          'Withdraw',
          ({ id: invitation }) =>
            mayChange && (
              <PostButton
                action={`${PATH}/withdraw`}
                fields={{ invitation: String(invitation) }}
                class="small"
              >
                Withdraw
              </PostButton>
            ),
        ],
      ]}
    />
  );
}
