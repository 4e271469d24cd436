import type { ComponentChildren, VNode } from 'preact';
import type { ConnectPages } from '../../api/connect/provider.ts';
import { CONNECT_ROUTES } from '../../api/connect/provider.ts';
import { NarrowPage } from '../kit/layout.tsx';
import { pageHeaders, staticHtml } from '../kit/render.tsx';

// Pages that the authorization server sends itself: it knows their forms by a token of its own.

export const CONNECT_PAGES: ConnectPages = {
  headers: { ...pageHeaders(), 'cache-control': 'no-store' },

  userCode: (xsrf, fault) =>
    staticHtml(
      <NarrowPage title="Connect a device" isDecision>
        <p>Enter the code that your device or command shows.</p>
        <DeviceForm xsrf={xsrf}>
          <div class="field">
            <label for="field-user_code">Code</label>
            <input
              id="field-user_code"
              class="code"
              name="user_code"
              required
              autocomplete="off"
              autocapitalize="characters"
              spellcheck={false}
              maxLength={20}
              placeholder="XXXX-XXXX"
              aria-invalid={fault ? 'true' : undefined}
              aria-describedby={fault ? 'user_code-fault' : undefined}
            />
            {fault && (
              <p class="fault" id="user_code-fault" role="alert">
                {CODE_FAULTS[fault] ?? 'This code cannot be used. Start again on your device.'}
              </p>
            )}
          </div>
          <button type="submit" class="primary">
            Continue
          </button>
        </DeviceForm>
        <p class="hint">Enter only a code that your own device shows. Souk never asks you for one.</p>
      </NarrowPage>,
    ),

  confirmDevice: (xsrf, { client, code }) =>
    staticHtml(
      <NarrowPage title="Connect a device" heading="Is this your device?" isDecision>
        <p>
          Check that <strong>{client}</strong> shows this code:
        </p>
        <p class="code">{code}</p>
        <p>
          Continue only if you started this and the codes are the same. On the next page, you choose what the
          program may do.
        </p>
        <DeviceForm xsrf={xsrf}>
          <input type="hidden" name="user_code" value={code} />
          <div class="buttons">
            <button type="submit" name="confirm" value="yes" class="primary">
              Continue
            </button>
            <button type="submit" name="abort" value="yes">
              Cancel
            </button>
          </div>
        </DeviceForm>
      </NarrowPage>,
    ),

  deviceConnected: (client) =>
    staticHtml(
      <NarrowPage title="Device connected" isDecision>
        <p role="status">
          <strong>{client}</strong> is connected. Close this page and return to your device.
        </p>
        <p>
          <a href="/account/keys">Your connections</a>
        </p>
      </NarrowPage>,
    ),

  error: (message) => {
    const known = ERRORS.find(([pattern]) => pattern.test(message));
    return staticHtml(
      <NarrowPage title="Program not connected" isDecision>
        <p role="alert">{known?.[1] ?? 'The program has sent a request that Souk cannot answer.'}</p>
        <p>{known?.[2] ?? START_AGAIN}</p>
        <p class="hint">
          For the developer of the program: <code>{message}</code>
        </p>
      </NarrowPage>,
    );
  },
};

/** What people see for faults of the library. */
const CODE_FAULTS: Readonly<Record<string, string>> = {
  'the code was not found': 'Unknown code. Compare it with the one on your device.',
  'the code has expired': 'This code has expired. Start again on your device.',
  'code has already been used': 'This code has been used already. Start again on your device.',
  'the interaction was aborted': 'You have cancelled: the device was not connected.',
  'no code submitted': 'Enter the code.',
};

const START_AGAIN =
  'Start again in the program. If it happens again, its developer has to correct the program.';

/** What people see for errors of the library, and what to do. */
const ERRORS: readonly (readonly [message: RegExp, text: string, next: string])[] = [
  [
    /expired|session not found|mismatch|interaction/,
    'This request has expired, or was decided in another browser.',
    'Start again in the program.',
  ],
  [
    /device form details|xsrf/,
    'The page was open for too long, or its cookie is missing.',
    'Open the address that your device shows again, and allow cookies.',
  ],
  [
    /redirect_uri/,
    'The program asks to return to an address that it has not registered. Nothing was allowed.',
    START_AGAIN,
  ],
  [
    /metadata document/,
    'The description of the program could not be fetched from its address.',
    'Try again later. If it happens again, its developer has to correct the description.',
  ],
  [
    /client is invalid|client not found|client_id/,
    'The program is not registered here, or its registration has ended.',
    'Remove Souk in the program, and add it again.',
  ],
  [/unrecognized route/, 'This page does not exist.', 'Start again in the program.'],
];

function DeviceForm({ xsrf, children }: { xsrf: string; children: ComponentChildren }): VNode {
  return (
    <form method="post" action={CONNECT_ROUTES.code_verification}>
      <input type="hidden" name="xsrf" value={xsrf} />
      {children}
    </form>
  );
}
