import { z } from 'zod';
import { LastOwner, listMembers, type Member, ROLES } from '../../accounts/members.ts';
import { findPersonByEmail, INSTALLATION_ROLES, listStaff, type Person } from '../../accounts/people.ts';
import { memberActs, personActs } from '../../operator/acts/account-acts.ts';
import type { Database } from '../../platform/db/pool.ts';
import {
  type Context,
  command,
  email,
  group,
  knownAccount,
  OF_ACCOUNT,
  OperatorError,
  ofAccount,
  reportOf,
} from '../terminal.ts';

const NONE = 'none';

const BY_EMAIL = { '<EMAIL>': 'e-mail address of the person' };

const showPeople = reportOf<Person>([
  ['ID', ({ id }) => String(id)],
  ['E-mail', ({ email: address }) => address],
  ['Name', ({ name }) => name],
  ['Role', ({ installationRole }) => installationRole ?? ''],
  ['Created', ({ createdAt }) => createdAt],
]);

/** People: their roles in the installation, two-factor sign-in and single sign-on. */
export const personCommands = group('person', 'manages people and their roles in the installation', [
  command({
    name: 'staff',
    description: 'lists the people who have a role in the installation',
    run: async ({ database }) => showPeople(await listStaff(database)),
  }),
  command({
    name: 'role',
    description: `sets what a person may do in the console: ${INSTALLATION_ROLES.join(', ')} or ${NONE}`,
    arguments: { ...BY_EMAIL, '<ROLE>': 'the role' },
    input: z.object({ email, role: z.enum([...INSTALLATION_ROLES, NONE]) }),
    async run(context, { email: address, role }) {
      const { id } = await knownPerson(context, address);
      const person = await personActs.setRole(context, id, role === NONE ? null : role);
      return { ...showPeople(person ? [person] : []), data: person };
    },
  }),
  command({
    name: 'reset2fa',
    description: 'turns two-factor sign-in off, for a person who has lost the app and the recovery codes',
    arguments: BY_EMAIL,
    input: z.object({ email }),
    async run(context, { email: address }) {
      const { id } = await knownPerson(context, address);
      const wasOn = await personActs.removeTwoFactor(context, id);
      const text = wasOn ? 'Two-factor sign-in is off.' : 'Two-factor sign-in was not on.';
      return { data: { personId: id, wasOn }, text };
    },
  }),
  command({
    name: 'unlink',
    description: 'unlinks a person from an identity of single sign-on, if it has changed at the provider',
    arguments: BY_EMAIL,
    input: z.object({ email }),
    async run(context, { email: address }) {
      const { id } = await knownPerson(context, address);
      const wasLinked = await personActs.unlinkIdentity(context, id);
      const text = wasLinked
        ? `The next sign-in through the provider as ${address} links its identity.`
        : `${address} was not linked with an identity.`;
      return { data: { personId: id, wasLinked }, text };
    },
  }),
]);

async function knownPerson({ database }: Context, address: string): Promise<Person> {
  const person = await findPersonByEmail(database, address);
  if (!person) throw new OperatorError(`${address} has no profile here.`);
  return person;
}

const showMembers = reportOf<Member>([
  ['Person', ({ personId }) => String(personId)],
  ['E-mail', ({ email: address }) => address],
  ['Name', ({ name }) => name],
  ['Role', ({ role }) => role],
  ['Since', ({ since }) => since],
]);

/** Members of accounts. */
export const memberCommands = group('member', 'manages the members of an account', [
  command({
    name: 'list',
    description: 'lists the members of an account with their roles',
    required: OF_ACCOUNT,
    input: ofAccount,
    run: async ({ database }, { account }) => membersOf(database, account),
  }),
  command({
    name: 'set',
    description: `makes a person a member, or changes the role: ${ROLES.join(', ')}`,
    required: {
      ...OF_ACCOUNT,
      '--email <E>': 'e-mail address of the person, who has signed up',
      '--role <R>': 'the role',
    },
    input: ofAccount.extend({ email, role: z.enum(ROLES) }),
    async run(context, { account, email: address, role }) {
      await knownAccount(context.database, account);
      const { id: personId } = await knownPerson(context, address);
      await memberActs.set(context, { accountId: account, personId, role }).catch(refuseLastOwner);
      return membersOf(context.database, account);
    },
  }),
  command({
    name: 'remove',
    description: 'removes a member, whose pages of the account end',
    required: { ...OF_ACCOUNT, '--email <E>': 'e-mail address of the person' },
    input: ofAccount.extend({ email }),
    async run(context, { account, email: address }) {
      await knownAccount(context.database, account);
      const { id: personId } = await knownPerson(context, address);
      const member = { accountId: account, personId };
      if (!(await memberActs.remove(context, member).catch(refuseLastOwner)))
        throw new OperatorError(`${address} is no member of account ${account}.`);
      return membersOf(context.database, account);
    },
  }),
]);

async function membersOf(database: Database, account: number) {
  await knownAccount(database, account);
  return showMembers(await listMembers(database, account));
}

function refuseLastOwner(error: unknown): never {
  if (error instanceof LastOwner) throw new OperatorError('An account needs an owner.', { cause: error });
  throw error;
}
