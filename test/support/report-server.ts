import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Credentials } from '../../src/upstream/selling-partner/report-provider.ts';
import { closeServer } from './close-server.ts';

export const SECRETS = { clientSecret: 'amzn1.oa2-cs.v1.not-shown', refreshToken: 'Atzr|not-shown' };

/** The scripted life of one requested report. */
export interface ScriptedReport {
  /** The statuses that successive checks return; the last one repeats. */
  statuses: ('IN_QUEUE' | 'IN_PROGRESS' | 'DONE' | 'CANCELLED' | 'FATAL')[];
  /** More fields of the answer. */
  more?: object;
  document?: Buffer;
  /** Bytes after which each successive download is interrupted. */
  breaks?: number[];
  /** The number of addresses that expire before they are used. */
  expired?: number;
  /** Whether downloads support ranges. */
  knowsRanges?: boolean;
}

export interface ReportServer {
  url: string;
  credentials: Credentials;
  /** `METHOD path`, in order. */
  calls: string[];
  /** Bodies of createReport. */
  orders: unknown[];
  /** Range headers of downloads; '' without. */
  ranges: string[];
  /** The reports for the next requests, in order. */
  reports: ScriptedReport[];
  /** Answers for the next calls of a kind, instead of the usual ones. */
  faults: { call: RegExp; status: number; headers?: Record<string, string>; body?: unknown }[];
  count(call: RegExp): number;
  close(): Promise<void>;
}

/** A server that simulates the Selling Partner API, its token server and its document store. */
export async function openReportServer(): Promise<ReportServer> {
  const ordered = new Map<string, ScriptedReport>();
  const server = createServer((request, response) => {
    answer(request, response).catch((error: unknown) => response.destroy(error as Error));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const { clientSecret, refreshToken } = SECRETS;
  const opened: ReportServer = {
    url,
    credentials: {
      clientId: 'amzn1.application-oa2-client.test',
      clientSecret,
      refreshTokens: { na: refreshToken, eu: refreshToken },
      baseUrl: url,
    },
    calls: [],
    orders: [],
    ranges: [],
    reports: [],
    faults: [],
    count: (call) => opened.calls.filter((one) => call.test(one)).length,
    close: () => closeServer(server),
  };

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const body = Buffer.concat(chunks).toString();
    const path = request.url ?? '';
    const call = `${request.method} ${path}`;
    opened.calls.push(call);
    const json = (status: number, content: unknown, headers: Record<string, string> = {}) =>
      response
        .writeHead(status, { 'content-type': 'application/json', ...headers })
        .end(JSON.stringify(content));

    const fault = opened.faults.findIndex((one) => one.call.test(call));
    if (fault >= 0) {
      const [{ status, headers, body: content } = { status: 500 }] = opened.faults.splice(fault, 1);
      json(status, content ?? { errors: [{ code: 'Fault', message: 'As scripted.' }] }, headers);
      return;
    }
    if (path === '/auth/o2/token') {
      const form = new URLSearchParams(body);
      const isGood = form.get('refresh_token') === refreshToken && form.get('client_secret') === clientSecret;
      if (isGood) json(200, { access_token: 'Atza|token', token_type: 'bearer', expires_in: 3600 });
      else json(400, { error: 'invalid_grant', error_description: 'no' });
      return;
    }
    if (path.startsWith('/store/')) {
      sendDocument(path.slice('/store/'.length), request, response);
      return;
    }
    if (request.headers['x-amz-access-token'] !== 'Atza|token') {
      json(403, { errors: [{ code: 'Unauthorized', message: 'Access is denied.' }] });
      return;
    }
    const [, kind = '', id = ''] = /^\/reports\/2021-06-30\/(reports|documents)\/?(.*)$/.exec(path) ?? [];
    if (kind === 'reports' && request.method === 'POST') {
      const next = opened.reports.shift();
      if (!next)
        return void json(400, { errors: [{ code: 'InvalidInput', message: 'No report is scripted.' }] });
      opened.orders.push(JSON.parse(body));
      const reportId = `R${opened.orders.length}`;
      ordered.set(reportId, next);
      json(202, { reportId });
      return;
    }
    const reportId = id.replace('D-', '');
    const report = ordered.get(reportId);
    if (!report) return void json(404, { errors: [{ code: 'NotFound', message: 'There is none.' }] });
    if (kind === 'documents') {
      json(200, { reportDocumentId: id, url: `${url}/store/${reportId}`, compressionAlgorithm: 'GZIP' });
      return;
    }
    const [status = 'DONE'] = report.statuses;
    if (report.statuses.length > 1) report.statuses.shift();
    const hasDocument = report.document !== undefined && /DONE|FATAL/.test(status);
    json(200, {
      ...report.more,
      reportId,
      processingStatus: status,
      ...(hasDocument ? { reportDocumentId: `D-${reportId}` } : {}),
    });
  }

  function sendDocument(reportId: string, request: IncomingMessage, response: ServerResponse): void {
    const report = ordered.get(reportId);
    const { range = '' } = request.headers;
    opened.ranges.push(range);
    if (!report?.document || (report.expired ?? 0) > 0) {
      if (report?.expired) report.expired -= 1;
      response
        .writeHead(403)
        .end('<Error><Code>AccessDenied</Code><Message>Request has expired</Message></Error>');
      return;
    }
    const from = report.knowsRanges === false ? 0 : Number(/\d+/.exec(range)?.[0] ?? 0);
    const part = report.document.subarray(from);
    response.writeHead(from > 0 ? 206 : 200, { 'content-length': part.length });
    const limit = report.breaks?.shift();
    if (limit === undefined) response.end(part);
    else response.write(part.subarray(0, limit), () => response.destroy());
  }

  return opened;
}
