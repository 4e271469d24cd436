import { createHash, randomBytes } from 'node:crypto';
import { request } from 'undici';
import { fieldIn, type VisitedPage, type Visitor } from './visitor.ts';

/** The tokens of a connection, as the token endpoint returns them. */
export interface Tokens {
  access_token: string;
  refresh_token: string;
  expires_in: number;
  scope: string;
  token_type: string;
}

interface Answer {
  status: number;
  headers: Record<string, string | string[] | undefined>;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into answers of every shape.
  body: any;
}

/** A program that signs in by OAuth, step by step. */
export interface Program {
  clientId: string;
  redirectUri: string;
  verifier: string;
  /** Opens the page of the consent in a browser. @returns the page, and its path. */
  begin(visitor: Visitor, parameters?: Record<string, string | undefined>): Promise<VisitedPage>;
  /** Lets the person decide. @returns the address with which the browser returns to the program. */
  decide(visitor: Visitor, page: VisitedPage, fields: Record<string, string>): Promise<URL>;
  /** Redeems a code, or sends other parameters. */
  redeem(parameters: Record<string, string>): Promise<Answer>;
  /** All of these steps. */
  connect(
    visitor: Visitor,
    fields: Record<string, string>,
    parameters?: Record<string, string | undefined>,
  ): Promise<Tokens>;
  refresh(refreshToken: string): Promise<Answer>;
  /** Sends a form to an address of the server. */
  send(path: string, fields: Record<string, string>): Promise<Answer>;
}

export const REDIRECT_URI = 'http://127.0.0.1:33418/callback';

/** Sends a request with a JSON body or a form. */
export async function ask(
  url: string,
  body?: object | URLSearchParams,
  headers: Record<string, string> = {},
): Promise<Answer> {
  const isForm = body instanceof URLSearchParams;
  const answer = await request(url, {
    method: body ? 'POST' : 'GET',
    headers: {
      ...(body ? { 'content-type': isForm ? 'application/x-www-form-urlencoded' : 'application/json' } : {}),
      ...headers,
    },
    ...(body ? { body: isForm ? body.toString() : JSON.stringify(body) } : {}),
  });
  const text = await answer.body.text();
  const isJson = String(answer.headers['content-type']).includes('json');
  return { status: answer.statusCode, headers: answer.headers, body: isJson ? JSON.parse(text) : text };
}

/** Registers a program. @param metadata besides the usual fields. */
export async function registerProgram(baseUrl: string, metadata: object = {}): Promise<Program> {
  const given = {
    client_name: 'Notebook',
    redirect_uris: [REDIRECT_URI],
    token_endpoint_auth_method: 'none',
    ...metadata,
  };
  const { status, body } = await ask(`${baseUrl}/oauth/register`, given);
  if (status !== 201) throw new Error(`the program was not registered: ${JSON.stringify(body)}`);
  return programOf(baseUrl, body.client_id, body.redirect_uris[0]);
}

export function programOf(baseUrl: string, clientId: string, redirectUri = REDIRECT_URI): Program {
  const verifier = randomBytes(32).toString('base64url');
  const program: Program = {
    clientId,
    redirectUri,
    verifier,
    begin(visitor, parameters = {}) {
      const all = {
        client_id: clientId,
        redirect_uri: redirectUri,
        response_type: 'code',
        code_challenge: createHash('sha256').update(verifier).digest('base64url'),
        code_challenge_method: 'S256',
        state: 'xyz',
        resource: `${baseUrl}/mcp`,
        ...parameters,
      };
      const given = Object.entries(all).filter((pair): pair is [string, string] => pair[1] !== undefined);
      return visitor.get(`/oauth/authorize?${new URLSearchParams(given)}`);
    },
    async decide(visitor, page, fields) {
      const token = fieldIn(page.html, '_csrf');
      let next = await visitor.send(page.path, { _csrf: token, ...fields });
      while (next.status === 303 && String(next.headers.location).startsWith(baseUrl)) {
        const { pathname, search } = new URL(String(next.headers.location));
        next = await visitor.open(`${pathname}${search}`);
      }
      if (next.status !== 303) throw new Error(`the browser did not return: ${next.status} ${next.text}`);
      return new URL(String(next.headers.location));
    },
    redeem: (parameters) =>
      ask(`${baseUrl}/oauth/token`, new URLSearchParams({ client_id: clientId, ...parameters })),
    async connect(visitor, fields, parameters) {
      const address = await program.decide(visitor, await program.begin(visitor, parameters), {
        ...ALLOWED,
        ...fields,
      });
      const { body } = await program.redeem({
        grant_type: 'authorization_code',
        code: address.searchParams.get('code') ?? '',
        redirect_uri: parameters?.redirect_uri ?? redirectUri,
        code_verifier: verifier,
      });
      if (!body.access_token) throw new Error(`no token: ${JSON.stringify(body)}`);
      return body;
    },
    refresh: (refreshToken) => program.redeem({ grant_type: 'refresh_token', refresh_token: refreshToken }),
    send: (path, fields) => ask(`${baseUrl}${path}`, new URLSearchParams({ client_id: clientId, ...fields })),
  };
  return program;
}

/** A decision that lets a program look up data. */
export const ALLOWED = {
  decision: 'allow',
  data: 'live',
  calls: '1',
  capDay: '100',
  capMonth: '1000',
  days: '30',
} as const;
