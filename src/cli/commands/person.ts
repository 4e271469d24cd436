import type { Command } from 'commander';
import { z } from 'zod';
import { LastOwner, listMembers, type Member, ROLES } from '../../accounts/members.ts';
import { findPersonByEmail, INSTALLATION_ROLES, listStaff, type Person } from '../../accounts/people.ts';
import { memberActs, personActs } from '../../operator/acts/account-acts.ts';
import {
  accountId,
  type Context,
  email,
  type Given,
  knownAccount,
  OperatorError,
  onDatabase,
  type Report,
  readInput,
  table,
} from '../terminal.ts';

const NONE = 'none';

/** People: their roles in the installation, and two-factor sign-in. */
export function registerPerson(program: Command): void {
  const person = program.command('person').description('manages people and their roles in the installation');
  onDatabase(
    person.command('staff').description('lists the people who have a role in the installation'),
    staff,
  );
  onDatabase(
    person
      .command('role')
      .description(`sets what a person may do in the console: ${INSTALLATION_ROLES.join(', ')} or ${NONE}`)
      .argument('<EMAIL>', 'e-mail address of the person')
      .argument('<ROLE>', 'the role'),
    setRole,
  );
  onDatabase(
    person
      .command('reset2fa')
      .description('turns two-factor sign-in off, for a person who has lost the app and the recovery codes')
      .argument('<EMAIL>', 'e-mail address of the person'),
    resetTwoFactor,
  );
}

async function staff({ database }: Context): Promise<Report> {
  const people = await listStaff(database);
  return { data: people, text: personTable(people) };
}

async function setRole(context: Context, given: Given): Promise<Report> {
  const { email: address, role } = readInput(
    z.object({ email, role: z.enum([...INSTALLATION_ROLES, NONE]) }),
    given,
  );
  const { id } = await knownPerson(context, address);
  const person = await personActs.setRole(context, id, role === NONE ? null : role);
  return { data: person, text: personTable(person ? [person] : []) };
}

async function resetTwoFactor(context: Context, given: Given): Promise<Report> {
  const { email: address } = readInput(z.object({ email }), given);
  const { id } = await knownPerson(context, address);
  const wasOn = await personActs.removeTwoFactor(context, id);
  const text = wasOn ? 'Two-factor sign-in is off.' : 'Two-factor sign-in was not on.';
  return { data: { personId: id, wasOn }, text };
}

async function knownPerson({ database }: Context, address: string): Promise<Person> {
  const person = await findPersonByEmail(database, address);
  if (!person) throw new OperatorError(`${address} has no profile here.`);
  return person;
}

function personTable(people: readonly Person[]): string {
  return table(
    ['ID', 'E-mail', 'Name', 'Role', 'Created'],
    people.map(({ id, email: address, name, installationRole, createdAt }) => [
      String(id),
      address,
      name,
      installationRole ?? '',
      createdAt,
    ]),
  );
}

const ofAccount = z.object({ account: accountId });

/** Members of accounts. */
export function registerMember(program: Command): void {
  const member = program.command('member').description('manages the members of an account');
  const command = (name: string, description: string) =>
    member.command(name).description(description).requiredOption('--account <ID>', 'number of the account');
  onDatabase(command('list', 'lists the members of an account with their roles'), list);
  onDatabase(
    command('set', `makes a person a member, or changes the role: ${ROLES.join(', ')}`)
      .requiredOption('--email <E>', 'e-mail address of the person, who has signed up')
      .requiredOption('--role <R>', 'the role'),
    set,
  );
  onDatabase(
    command('remove', 'removes a member, whose pages of the account end').requiredOption(
      '--email <E>',
      'e-mail address of the person',
    ),
    remove,
  );
}

async function list({ database }: Context, given: Given): Promise<Report> {
  const { account } = readInput(ofAccount, given);
  await knownAccount(database, account);
  const members = await listMembers(database, account);
  return { data: members, text: memberTable(members) };
}

async function set(context: Context, given: Given): Promise<Report> {
  const fields = z.object({ account: accountId, email, role: z.enum(ROLES) });
  const { account, email: address, role } = readInput(fields, given);
  await knownAccount(context.database, account);
  const { id: personId } = await knownPerson(context, address);
  await memberActs.set(context, { accountId: account, personId, role }).catch(refuseLastOwner);
  return list(context, { account: String(account) });
}

async function remove(context: Context, given: Given): Promise<Report> {
  const { account, email: address } = readInput(z.object({ account: accountId, email }), given);
  await knownAccount(context.database, account);
  const { id: personId } = await knownPerson(context, address);
  const wasMember = await memberActs.remove(context, { accountId: account, personId }).catch(refuseLastOwner);
  if (!wasMember) throw new OperatorError(`${address} is no member of account ${account}.`);
  return list(context, { account: String(account) });
}

function refuseLastOwner(error: unknown): never {
  if (error instanceof LastOwner) throw new OperatorError('An account needs an owner.', { cause: error });
  throw error;
}

function memberTable(members: readonly Member[]): string {
  return table(
    ['Person', 'E-mail', 'Name', 'Role', 'Since'],
    members.map(({ personId, email: address, name, role, since }) => [
      String(personId),
      address,
      name,
      role,
      since,
    ]),
  );
}
