import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { OPENID_SECONDS, type OpenId, OpenIdFailed, type SignedIn } from '../../accounts/openid.ts';
import { hasClaimedRole } from '../../accounts/people.ts';
import { isKnownDevice } from '../../accounts/sessions.ts';
import { type Identity, type IdentityOwner, ownerOfIdentity } from '../../accounts/single-sign-on.ts';
import { writeAct } from '../../operator/account-audit.ts';
import { personActs } from '../../operator/acts/account-acts.ts';
import { PrimaryLink } from '../kit/elements.tsx';
import { FormRefused } from '../kit/form-request.ts';
import { NarrowPage } from '../kit/layout.tsx';
import { sendPage } from '../kit/render.tsx';
import { baseUrlOf, type Pages } from '../pages.ts';
import { COOKIE_OPTIONS, SSO_DEVICE_COOKIE, signInPerson } from '../session.ts';
import { accountPath, informOfSignIn, refuseTooMany, sendSignIn, singleSignOnPath } from './sign-in.tsx';

const PATH = '/sign-in/openid';
const CALLBACK_PATH = `${PATH}/callback`;

/** The cookie of a browser that is at the provider. */
const BEGUN_COOKIE = 'souk_openid';

/** Registers signing in through the OpenID Connect provider, if the settings name one. */
export function registerSingleSignOn(scope: FastifyInstance, pages: Pages): void {
  const { openId } = pages;
  if (openId === null) return;

  scope.get<{ Querystring: { to?: string; continue?: string } }>(PATH, (request, reply) => {
    const to = accountPath(request.query.to);
    // Browsers let no form lead to another site, so a redirect after a sign-in by password would end there.
    if (request.session && !request.session.isSso && request.query.continue !== '1')
      return sendRequired(reply, openId, to);
    return showRefusal(pages, reply, to, () => begin(pages, openId, request, reply, to));
  });

  scope.get(CALLBACK_PATH, (request, reply) =>
    showRefusal(pages, reply, undefined, () => finish(pages, openId, request, reply)),
  );
}

async function begin(
  pages: Pages,
  openId: OpenId,
  request: FastifyRequest,
  reply: FastifyReply,
  to: string,
): Promise<FastifyReply> {
  const { address, cookie } = await openId.begin(`${baseUrlOf(pages, request)}${CALLBACK_PATH}`, to);
  reply.setCookie(BEGUN_COOKIE, cookie, { ...COOKIE_OPTIONS, maxAge: OPENID_SECONDS });
  return reply.redirect(address, 303);
}

async function finish(
  pages: Pages,
  openId: OpenId,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const { attempts } = pages;
  refuseTooMany(pages, reply, await attempts.countSingleSignOn(request.ip));
  const cookie = request.cookies[BEGUN_COOKIE];
  // Each sign-in has one answer.
  reply.clearCookie(BEGUN_COOKIE, COOKIE_OPTIONS);
  const returned = new URL(`${baseUrlOf(pages, request)}${request.originalUrl}`);
  const signedIn = await openId.finish(returned, cookie);
  const { identity } = signedIn;
  const personId = await personOf(pages, openId, request, reply, identity);
  await attempts.forgiveSingleSignOn(request.ip);
  await setClaimedRole(pages, openId, request, personId, signedIn);
  const { clientSecret } = openId.settings;
  const ssoDevice = `${clientSecret} ${identity.issuer} ${identity.subject}`;
  const isKnown = isKnownDevice(request.cookies[SSO_DEVICE_COOKIE], ssoDevice);
  await signInPerson(pages, request, reply, { personId, ssoDevice });
  if (!isKnown) await informOfSignIn(pages, request, personId);
  return reply.redirect(accountPath(signedIn.to), 303);
}

/** The lines of the audit log. */
const CHANGES = {
  created: null,
  linked: 'person.identity-linked',
  address: 'person.email-followed',
} as const;

/** Returns the person of an identity, who may be new. @throws FormRefused. */
async function personOf(
  pages: Pages,
  { settings: { name, hasNewPeople } }: OpenId,
  request: FastifyRequest,
  reply: FastifyReply,
  identity: Identity,
): Promise<number> {
  const { database, clock, attempts } = pages;
  const find = (mayCreate: boolean) => ownerOfIdentity(database, identity, { now: clock.now(), mayCreate });
  let owner = await find(false);
  if (owner.kind === 'unknown' && hasNewPeople) {
    refuseTooMany(pages, reply, await attempts.countSignUp(request.ip));
    owner = await find(true);
  }
  if (owner.kind === 'person') {
    const { personId, change } = owner;
    const action = change && CHANGES[change];
    if (action) await writeAct(database, personId, { accountId: null, action });
    return personId;
  }
  const { email } = identity;
  const [status, text] = refusalOf(owner.kind, name, email ?? '');
  throw new FormRefused(status, { '': text });
}

function refusalOf(
  kind: Exclude<IdentityOwner['kind'], 'person'>,
  name: string,
  email: string,
): [status: number, text: string] {
  switch (kind) {
    case 'unverified':
      return [403, `${name} has not verified your e-mail address. Verify it there first.`];
    case 'unconfirmed':
      return [
        409,
        `The address ${email} has a profile here and was never confirmed. Sign in with its password and confirm the address first. Without the password, set a new one, or ask the operator to confirm the address.`,
      ];
    case 'taken':
      return [
        409,
        `The address ${email} has a profile here that is linked with another identity at ${name}. Ask the operator of this service.`,
      ];
    case 'unknown':
      return [403, `The address ${email} has no profile here. Ask for an invitation.`];
  }
}

/** Gives the person the role that the provider names, and takes away one that it no longer names. */
async function setClaimedRole(
  { database, clock }: Pages,
  { settings: { roleClaim } }: OpenId,
  { ip }: FastifyRequest,
  personId: number,
  { role }: SignedIn,
): Promise<void> {
  if (roleClaim === null || (role === null && !(await hasClaimedRole(database, personId)))) return;
  const operator = { channel: 'console', name: 'single sign-on', address: ip } as const;
  await personActs.claimRole({ database, operator, now: clock.now() }, personId, role);
}

/** Shows a refused sign-in on the page where the visitor can start again. */
async function showRefusal(
  pages: Pages,
  reply: FastifyReply,
  to: string | undefined,
  signIn: () => Promise<FastifyReply>,
): Promise<FastifyReply> {
  try {
    return await signIn();
  } catch (error) {
    if (error instanceof FormRefused)
      return sendSignIn(pages, reply, { values: { to }, faults: error.faults }, error.status);
    if (!(error instanceof OpenIdFailed)) throw error;
    const { status, message, reason } = error;
    pages.log[status === 503 ? 'warn' : 'info']({ reason }, 'refused a sign-in by OpenID Connect');
    return sendSignIn(pages, reply, { values: { to }, faults: { '': message } }, status);
  }
}

/** Asks somebody who has signed in by password to sign in through the provider. */
function sendRequired(reply: FastifyReply, { settings: { name } }: OpenId, to: string): FastifyReply {
  return sendPage(
    reply,
    <NarrowPage title="Sign in" heading={`Sign in with ${name}`}>
      <p>You have signed in with a password. Sign in with {name} to see accounts that require it.</p>
      <p>
        <PrimaryLink to={`${singleSignOnPath(to)}&continue=1`}>Continue to {name}</PrimaryLink>
      </p>
      <p>
        <a href="/profile">Your profile and other accounts</a>
      </p>
    </NarrowPage>,
  );
}
