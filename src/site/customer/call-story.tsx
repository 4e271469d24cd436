import type { ComponentChildren, VNode } from 'preact';
import type { Call } from '../../billing/calls.ts';
import type { Draw } from '../../billing/statement.ts';
import { unitsPaidOf } from '../../results/answer-store.ts';
import { Table } from '../kit/table.tsx';
import { count, counted, Dash, Time, WALLET_NAMES } from '../kit/words.tsx';
import { msText } from './jobs.tsx';

/** Says in sentences where the data of a settled call came from. */
export function waysOf({ startedAt, askedAt, answer, unitsPaid }: Call): string {
  const way =
    startedAt === null
      ? 'The cache: the same call was answered within the last hour.'
      : askedAt === null
        ? 'A worker, without a request to the data provider: the data was in the cache, is stored by the service, or was fetched for another call at the same time.'
        : 'The data provider.';
  const continued = unitsPaid > 0 ? ' It continues the partial answer of an earlier call.' : '';
  const partial =
    unitsPaidOf(answer) === null
      ? ''
      : ' The answer is partial: its field errors names the parts that failed. The same call fetches them, and costs only those.';
  return way + continued + partial;
}

/** Explains the price of a call, and names the plans and packs that its units came from. */
export function UnitsWhy({ call, draws }: { call: Call; draws: readonly Draw[] }): VNode {
  const { state, unitsReserved, unitsCharged, unitsPaid } = call;
  const isSettled = state === 'settled';
  const taken = draws.filter(({ kind }) =>
    isSettled ? kind === 'charge' || kind === 'settle' : kind === 'reserve',
  );
  const reasons = [
    state === 'released' && 'The reserved units were released, because the call has no answer.',
    isSettled &&
      unitsCharged < unitsReserved &&
      `${counted(unitsReserved - unitsCharged, 'reserved unit')} returned, because the answer costs less.`,
    unitsPaid > 0 &&
      `${counted(unitsPaid, 'unit')} ${unitsPaid === 1 ? 'was' : 'were'} paid for the partial answer that this call continues.`,
    state !== 'released' && 'Identical calls join this one for five minutes, and cost nothing.',
  ].filter((reason) => reason !== false);
  const sources = (state === 'released' ? [] : taken).map(
    (draw) => `${taken.length > 1 ? `${count(draw.units)} ` : ''}from ${sourceText(draw)}`,
  );
  return (
    <>
      {sources.length > 0 && `, ${sources.join(', ')}`}. <small class="muted">{reasons.join(' ')}</small>
    </>
  );
}

function sourceText({ source, sourceId, planName, wallet }: Draw): string {
  const name = source === 'subscription' ? `the plan ${planName}` : `pack ${sourceId}`;
  return `${name} (${WALLET_NAMES[wallet].toLowerCase()})`;
}

/** A moment of a call. `at`: null if the moment has not come, or its time is not stored. */
type Moment = readonly [name: string, at: number | null, note: ComponentChildren];

/** What happened to a call, from its acceptance to its delivery. */
export function TimeLine({ call }: { call: Call }): VNode {
  return (
    <Table
      name="Time line"
      rows={momentsOf(call)}
      columns={[
        ['Moment', ([name]) => name, 'row'],
        ['Time', ([, at]) => <Time at={at} />],
        ['After', ([, at]) => (at === null ? <Dash /> : msText(Math.max(0, at - call.acceptedAt))), 'number'],
        ['Note', ([, , note]) => note],
      ]}
    />
  );
}

/** The moments of a call whose times are stored, and its delivery. */
function momentsOf(call: Call): Moment[] {
  const { state, acceptedAt, startedAt, askedAt, answeredAt, finishedAt, attempts, background } = call;
  const fromCache = state === 'settled' && startedAt === null;
  const moments: (Moment | false)[] = [
    [
      fromCache ? 'Accepted' : 'Accepted and queued',
      acceptedAt,
      fromCache ? 'The answer was in the cache.' : counted(call.unitsReserved, 'unit').concat(' reserved.'),
    ],
    startedAt !== null && [
      'Started',
      startedAt,
      `Waited ${msText(Math.max(0, startedAt - acceptedAt))} in the queue.${attempts > 1 ? ` This is attempt ${count(attempts)}.` : ''}`,
    ],
    askedAt !== null && ['Data provider asked', askedAt, 'Includes a wait for its rate limit.'],
    answeredAt !== null &&
      askedAt !== null && ['Data provider answered', answeredAt, `Took ${msText(answeredAt - askedAt)}.`],
    finishedAt !== null && [
      state === 'settled' ? 'Settled' : 'Released',
      finishedAt,
      state === 'settled'
        ? `${counted(call.unitsCharged, 'unit')} charged.`
        : 'The call has no answer and costs nothing.',
    ],
    finishedAt !== null && ['Delivered', null, deliveryText(call, background)],
  ];
  return moments.filter((moment) => moment !== false);
}

function deliveryText({ polled, state }: Call, background: boolean): string {
  const what = state === 'settled' ? 'answer' : 'error';
  if (background) return `The batch has the ${what}.`;
  return polled
    ? `The caller received the job, with which it fetches the ${what}.`
    : `The waiting request received the ${what} when the call ended.`;
}
