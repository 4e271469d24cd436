import { type Dispatcher, request } from 'undici';
import { expect } from 'vitest';
import type { Client } from './client.ts';

/** One Server-Sent Event; a comment has the name ':'. */
export interface SentEvent {
  name: string;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into events of every shape.
  data: any;
}

/** A client that reads the event stream of a job. */
export interface Listener {
  status: number;
  headers: Dispatcher.ResponseData['headers'];
  events: SentEvent[];
  /** Resolves when the server has ended the stream; rejects if the connection broke. */
  ended: Promise<void>;
  hasEnded(): boolean;
  hangUp(): void;
}

export async function listen(client: Client, path: string): Promise<Listener> {
  const leaving = new AbortController();
  const response = await request(`${client.baseUrl}${path}`, {
    headers: { 'x-api-key': client.key, accept: 'text/event-stream' },
    signal: leaving.signal,
  });
  const events: SentEvent[] = [];
  let isOver = false;
  const read = async () => {
    let text = '';
    for await (const chunk of response.body) {
      text += String(chunk);
      const parts = text.split('\n\n');
      text = parts.pop() ?? '';
      events.push(...parts.map(eventOf));
    }
    expect(text).toBe('');
  };
  const ended = read().finally(() => {
    isOver = true;
  });
  ended.catch(() => {});
  return {
    status: response.statusCode,
    headers: response.headers,
    events,
    ended,
    hasEnded: () => isOver,
    hangUp: () => leaving.abort(),
  };
}

function eventOf(block: string): SentEvent {
  if (block.startsWith(':')) return { name: ':', data: null };
  const fields = new Map(
    block.split('\n').map((line) => {
      const at = line.indexOf(': ');
      return [line.slice(0, at), line.slice(at + 2)];
    }),
  );
  expect([...fields.keys()]).toEqual(['event', 'data']);
  return { name: fields.get('event') ?? '', data: JSON.parse(fields.get('data') ?? '') };
}
