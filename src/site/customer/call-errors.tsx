import type { FastifyInstance } from 'fastify';
import type { VNode } from 'preact';
import { type ErrorGroup, errorGroups, MOST_ERRORS_READ } from '../../billing/statement.ts';
import { DAY_MS } from '../../platform/durations.ts';
import { ERRORS, type ErrorKind, isErrorKind } from '../../platform/errors.ts';
import { solutionOf } from '../docs/guides.ts';
import { readValues } from '../kit/form-request.ts';
import { Page } from '../kit/layout.tsx';
import { addressOf } from '../kit/list-page.tsx';
import { sendPage } from '../kit/render.tsx';
import { Table } from '../kit/table.tsx';
import { count, Time } from '../kit/words.tsx';
import type { Pages } from '../pages.ts';
import { customerOf } from '../session.ts';
import { CALLS_PATH, CallTabs, ERRORS_PATH, failedCallsAddress } from './jobs.tsx';

const PERIODS = [
  ['1', '24 hours'],
  ['7', '7 days'],
] as const;

/** Registers the page of the errors with which the account's calls have ended, by code and operation. */
export function registerCallErrors(scope: FastifyInstance, { database, clock }: Pages): void {
  scope.get(ERRORS_PATH, async (request, reply) => {
    const { days } = readValues(request.query);
    const [chosen, text] = PERIODS.find(([value]) => value === days) ?? PERIODS[0];
    const since = clock.now() - Number(chosen) * DAY_MS;
    const groups = await errorGroups(database, customerOf(request).accountId, since);
    return sendPage(
      reply,
      <Page title="Errors of calls" heading={null} styles={['account.css']} wide>
        <h1>Calls</h1>
        <p class="lead">
          Calls that failed, by error and operation. A failed call costs nothing: its units are released.
        </p>
        <div class="row">
          <CallTabs current={ERRORS_PATH} />
          <nav class="segments push" aria-label="Period">
            {PERIODS.map(([value, name]) => (
              <a
                key={value}
                href={addressOf(ERRORS_PATH, { days: value })}
                aria-current={value === chosen ? 'true' : undefined}
              >
                {name}
              </a>
            ))}
          </nav>
        </div>
        <ErrorTable groups={groups} empty={`No call has failed in the last ${text}.`} />
        <p class="hint">
          A refused request, such as one with an invalid parameter or without enough units, makes no call and
          is not listed here: its answer has the reason. At most the newest {count(MOST_ERRORS_READ)} failed
          calls are grouped. Cancelled calls are not errors.
        </p>
      </Page>,
    );
  });
}

function ErrorTable({ groups, empty }: { groups: readonly ErrorGroup[]; empty: string }): VNode {
  return (
    <Table
      name="Errors"
      empty={empty}
      rows={groups}
      columns={[
        ['Error', ({ kind }) => <ErrorCode kind={kind} />],
        ['Operation', ({ operation }) => <a href={failedCallsAddress(operation)}>{operation}</a>],
        ['Calls', ({ calls }) => count(calls), 'number'],
        ['In batches', ({ inBatches }) => count(inBatches), 'number'],
        [
          'Last',
          ({ lastAt, lastCallId }) => (
            <a href={`${CALLS_PATH}/${lastCallId}`}>
              <Time at={lastAt} />
            </a>
          ),
        ],
        ['Last message', ({ message }) => message, 'long'],
        ['What to do', ({ kind }) => <Advice kind={kind} />, 'long'],
      ]}
    />
  );
}

/** The code of an error, with its description in the documentation. */
export function ErrorCode({ kind }: { kind: string }): VNode {
  const { code } = ERRORS[knownKind(kind)];
  return (
    <a href={`/docs/errors#${code.toLowerCase()}`}>
      <code>{code}</code>
    </a>
  );
}

/** What a customer can do about an error. */
export function Advice({ kind }: { kind: string }): VNode {
  // From a file of this repository, not from input.
  return <span dangerouslySetInnerHTML={{ __html: solutionOf(ERRORS[knownKind(kind)].code) }} />;
}

/** A newer version may have stored a kind that this one does not know. */
function knownKind(kind: string): ErrorKind {
  return isErrorKind(kind) ? kind : 'INTERNAL';
}
