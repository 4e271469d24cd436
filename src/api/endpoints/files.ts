import type { FastifyRequest } from 'fastify';
import { z } from 'zod';
import { OPERATION_SCOPES } from '../../accounts/key-settings.ts';
import { SCHEMA_NAMES } from '../../operations/answers.ts';
import { exactObject } from '../../operations/params/request.ts';
import { integer, oneOf, text } from '../../operations/params/scalars.ts';
import { TABLE_FORMAT_NAMES } from '../../operations/tables/formats.ts';
import { iso } from '../../platform/clock.ts';
import { inTransaction } from '../../platform/db/transaction.ts';
import { HOUR_MS } from '../../platform/durations.ts';
import { invalidParameters } from '../../platform/errors.ts';
import { findFile } from '../../results/files.ts';
import {
  createLink,
  deleteLink,
  findLink,
  listLinks as findLinks,
  LINK_TARGETS,
  linkPath,
  MOST_LINKS,
  type ResultLink,
} from '../../results/result-links.ts';
import { sendEnvelope, setFacts } from '../envelope.ts';
import { EXAMPLE_ID, uuidParameter } from '../ids.ts';
import { enveloped, headers, partialAnswers } from '../openapi/responses.ts';
import { OWN_JOB_SCOPES, owned, readableOperations, requireUse } from '../plugins/authentication.ts';
import { storedFile } from '../result-files.ts';
import { linkedResult, type ResultDeps } from '../result-links.ts';
import { downloadsOf, sendFile } from '../send-file.ts';
import { endpoint } from './endpoint.ts';
import { cutPage, pageOf } from './page.ts';

const fileId = { of: 'the file', unknown: 'FILE_NOT_FOUND' } as const;
const linkId = { of: 'the link', unknown: 'LINK_NOT_FOUND' } as const;

type OwnDeps = Pick<ResultDeps, 'database' | 'clock'>;

const ownFile = owned(fileId.unknown, ({ database, clock }: OwnDeps, accountId, id) =>
  findFile(database, accountId, id, clock.now()),
);

const ownLink = owned(linkId.unknown, ({ database, clock }: OwnDeps, accountId, id) =>
  findLink(database, accountId, id, clock.now()),
);

const getFile = endpoint({
  tag: 'files',
  method: 'get',
  path: '/api/files/{id}',
  scopes: OWN_JOB_SCOPES,
  occupies: downloadsOf,
  summary: 'Returns a file that a job has written, whole or in parts.',
  description:
    'Returns a file that a job has written. An interrupted download continues with `Range` and `If-Range`.',
  id: fileId,
  answers: {
    200: {
      description: 'The file',
      headers: headers('ETag', 'Last-Modified', 'Accept-Ranges'),
      content: {
        'application/vnd.apache.parquet': { schema: { type: 'string', format: 'binary' } },
        'text/csv': { schema: { type: 'string' } },
      },
    },
    ...partialAnswers(),
  },
  errors: ['RANGE_NOT_SATISFIABLE'],

  async handle(deps: OwnDeps, { account, id, request, reply }) {
    const file = await ownFile(deps, account, id);
    setFacts(reply);
    reply.header('content-disposition', `attachment; filename="${file.name}"`);
    return sendFile(request, reply, storedFile(reply, deps.database, file));
  },
});

const LONGEST_HOURS = 168;

const linkBody = exactObject({
  target: oneOf(LINK_TARGETS).describe('What it opens: the result of a job or batch, or a file'),
  id: uuidParameter('the job, batch or file'),
  format: oneOf(TABLE_FORMAT_NAMES)
    .optional()
    .describe('Format of the results of a job or batch; default: as the call asked, or ndjson'),
  table: text({ maxLength: 50 })
    .optional()
    .meta({
      description: 'Table of the results of a job or batch, such as history; default: that of the operation',
      examples: ['products'],
    }),
  hours: integer({ min: 1, max: LONGEST_HOURS })
    .default(24)
    .describe('Hours until it ends, at most until the result is deleted'),
});

export type LinkBody = z.output<typeof linkBody>;

const moment = z.iso.datetime();

const linkShape = {
  linkId: z.uuid(),
  target: z.enum(LINK_TARGETS),
  targetId: z.uuid(),
  operation: z.string(),
  format: z.string().nullable(),
  name: z.string().describe('Name of the file'),
  createdBy: z.int().nullable().describe('Id of the key that created it; null: the pages'),
  createdAt: moment,
  expiresAt: moment,
  opens: z.int().describe('Downloads so far; a part counts as one'),
  lastOpenedAt: moment.nullable(),
};

const linkSchema = z.object(linkShape).register(SCHEMA_NAMES, { id: 'ResultLink' });

export type LinkView = z.output<typeof linkSchema>;

const newLinkSchema = z
  .object({
    ...linkShape,
    url: z.string().describe('The address that opens the result. It is shown only once'),
  })
  .register(SCHEMA_NAMES, { id: 'NewResultLink' });

export type NewLinkView = z.output<typeof newLinkSchema>;

function linkView(link: ResultLink): LinkView {
  const { linkId, target, targetId, operation, format, name, keyId, opens } = link;
  return {
    linkId,
    target,
    targetId,
    operation,
    format,
    name,
    createdBy: keyId,
    createdAt: iso(link.createdAt),
    expiresAt: iso(link.expiresAt),
    opens,
    lastOpenedAt: link.lastOpenedAt === null ? null : iso(link.lastOpenedAt),
  };
}

interface LinkDeps extends ResultDeps {
  /** The setting PUBLIC_URL. */
  publicUrl: string | null;
}

const createResultLink = endpoint({
  tag: 'links',
  method: 'post',
  path: '/api/links',
  act: 'link.created',
  scopes: OPERATION_SCOPES,
  summary: 'Creates a link that opens one result without a key, and returns it this once.',
  description: `Creates a link that opens one result without a key, for spreadsheets, DuckDB and mails, and returns it this once. It ends with its time, its result, its key, the account, or when it is revoked. An account has at most ${MOST_LINKS} links.`,
  body: {
    description: 'The result, and how long the link works',
    schema: linkBody,
    example: { target: 'batch', id: EXAMPLE_ID, format: 'csv', hours: 24 },
  },
  answers: { 201: enveloped('The link', newLinkSchema, 'Location') },
  errors: [
    'JOB_NOT_FOUND',
    'BATCH_NOT_FOUND',
    'FILE_NOT_FOUND',
    'RESULT_NOT_READY',
    'RESULT_EXPIRED',
    'LIMIT_REACHED',
  ],

  async handle(deps: LinkDeps, { account, body, request, reply }) {
    const { hours, table, format: wantedFormat, ...wanted } = body;
    const form = table === undefined ? wantedFormat : `${table}.${wantedFormat ?? 'ndjson'}`;
    if (wanted.target === 'file' && form !== undefined) {
      const parameter = table === undefined ? 'format' : 'table';
      throw invalidParameters([{ parameter, problem: 'must be left out for a file, which has one form' }]);
    }
    const result = await linkedResult(deps, account, { ...wanted, format: form });
    requireUse(account, result.operation, 'change');
    const { accountId, keyHash } = account;
    const createdAt = deps.clock.now();
    const { target, id: targetId } = wanted;
    const { operation, format, name, endsAt } = result;
    const expiresAt = Math.min(createdAt + hours * HOUR_MS, endsAt);
    const { link, token } = await inTransaction(deps.database, (client) =>
      createLink(client, keyHash, {
        accountId,
        target,
        targetId,
        operation,
        format,
        name,
        createdAt,
        expiresAt,
      }),
    );
    reply.header('location', `/api/links/${link.linkId}`);
    const url = `${originOf(deps, request)}${linkPath(token, link.name)}`;
    return sendEnvelope(reply, 201, { ...linkView(link), url }, { message: 'created' });
  },
});

function originOf({ publicUrl }: LinkDeps, { protocol, host }: FastifyRequest): string {
  return publicUrl?.replace(/\/$/, '') ?? `${protocol}://${host}`;
}

const listLinks = endpoint({
  tag: 'links',
  method: 'get',
  path: '/api/links',
  scopes: OWN_JOB_SCOPES,
  summary: 'Lists the links of the account that have not ended, newest first.',
  query: z.object({
    id: uuidParameter('the job, batch or file of the links').optional(),
    limit: integer({ min: 1, max: 100 }).default(50).describe('Links per page'),
    cursor: uuidParameter('the last link of the previous page').optional(),
  }),
  answers: { 200: enveloped('A page of links', pageOf('ResultLinksPage', 'links', linkSchema)) },

  async handle({ database, clock }: LinkDeps, { account, query, reply }) {
    const { id: targetId = null, cursor: before = null, limit } = query;
    const found = await findLinks(database, account.accountId, {
      now: clock.now(),
      operations: readableOperations(account),
      targetId,
      before,
      limit: limit + 1,
    });
    const { entries, nextCursor } = cutPage(found, limit, ({ linkId }) => linkId);
    return sendEnvelope(reply, 200, { links: entries.map(linkView), nextCursor });
  },
});

const revokeLink = endpoint({
  tag: 'links',
  method: 'delete',
  path: '/api/links/{id}',
  act: 'link.revoked',
  scopes: OPERATION_SCOPES,
  summary: 'Revokes a link. It opens nothing from now on.',
  id: linkId,
  answers: { 200: enveloped('The link as it was', linkSchema) },

  async handle(deps: LinkDeps, { account, id, reply }) {
    const link = await ownLink(deps, account, id, 'change');
    await deleteLink(deps.database, link.linkId);
    return sendEnvelope(reply, 200, linkView(link));
  },
});

/** Files that jobs have written, and links that open results without a key. All of them are free. */
export const FILE_ENDPOINTS = [getFile, createResultLink, listLinks, revokeLink];
