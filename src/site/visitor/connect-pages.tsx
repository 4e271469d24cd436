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
      <NarrowPage title="Connect a device">
        <p>Enter the code that your device or command shows.</p>
        <DeviceForm xsrf={xsrf}>
          {fault && (
            <div class="notice bad" role="alert">
              <p>{FAULTS[fault] ?? 'This code cannot be used. Start again on your device.'}</p>
            </div>
          )}
          <div class="field">
            <label for="field-user_code">Code</label>
            <input id="field-user_code" name="user_code" required autocomplete="off" maxLength={20} />
          </div>
          <button type="submit" class="primary">
            Continue
          </button>
        </DeviceForm>
      </NarrowPage>,
    ),

  confirmDevice: (xsrf, { client, code }) =>
    staticHtml(
      <NarrowPage title="Connect a device" heading="Is this your device?">
        <p>
          <strong>{client}</strong> shows this code:
        </p>
        <p>
          <code class="id">{code}</code>
        </p>
        <p>Continue only if you have started this yourself and the code is the same.</p>
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
      <NarrowPage title="Device connected">
        <p>{client} is connected. You can close this page and return to your device.</p>
      </NarrowPage>,
    ),

  error: (message) =>
    staticHtml(
      <NarrowPage title="Connection failed">
        <p>The program has sent a request that cannot be answered: {message}.</p>
        <p>Start again in the program. If it persists, the program has to be corrected.</p>
      </NarrowPage>,
    ),
};

const FAULTS: Readonly<Record<string, string>> = {
  'the code was not found': 'Unknown code. Compare it with the one on your device.',
  'the code has expired': 'This code has expired. Start again on your device.',
  'code has already been used': 'This code has been used already. Start again on your device.',
  'the interaction was aborted': 'The device was not connected.',
  'no code submitted': 'Enter the code.',
};

function DeviceForm({ xsrf, children }: { xsrf: string; children: ComponentChildren }): VNode {
  return (
    <form method="post" action={CONNECT_ROUTES.code_verification}>
      <input type="hidden" name="xsrf" value={xsrf} />
      {children}
    </form>
  );
}
