import type { VNode } from 'preact';
import { create } from 'qrcode';
import { z } from 'zod';
import { ANSWER, Secret } from './elements.tsx';
import { Field } from './form.tsx';
import { Page } from './layout.tsx';

/** A code from an authenticator app, or a recovery code. */
export const codeInput = z
  .string({ error: 'is required' })
  .trim()
  .min(1, 'is required')
  .max(40, 'must have at most 40 characters');

export function CodeField({ label, hint }: { label: string; hint?: string }): VNode {
  return <Field name="code" label={label} hint={hint} autocomplete="one-time-code" required />;
}

/** A new secret, as a QR code and as text. @param uri the address that apps read from the QR code. */
export function SecretForApp({ uri, secret }: { uri: string; secret: string }): VNode {
  return (
    <>
      <p>Scan this code with an authenticator app, or enter the secret by hand.</p>
      <QrCode text={uri} />
      <Secret id="totp-secret" text={secret} />
    </>
  );
}

/** The page with new recovery codes. */
export function RecoveryCodes(props: {
  codes: readonly string[];
  back: readonly [path: string, text: string];
}): VNode {
  const [path, text] = props.back;
  return (
    <Page title="Recovery codes" heading="Two-factor sign-in is on">
      <section class="notice good" {...ANSWER}>
        <h2>Recovery codes</h2>
        <p>
          Each of these codes works once in place of a code from the app. <strong>Keep them now.</strong> They
          are shown only once.
        </p>
        <Secret id="recovery-codes" text={props.codes.join(' ')} />
        <p>
          <a href={path}>{text}</a>
        </p>
      </section>
    </Page>
  );
}

const QUIET_ZONE = 4;

function QrCode({ text }: { text: string }): VNode {
  const { modules } = create(text, { errorCorrectionLevel: 'M' });
  const side = modules.size + 2 * QUIET_ZONE;
  const dark = Array.from(modules.data, (isDark, i) =>
    isDark ? `M${(i % modules.size) + QUIET_ZONE} ${Math.floor(i / modules.size) + QUIET_ZONE}h1v1h-1z` : '',
  ).join('');
  return (
    <svg
      viewBox={`0 0 ${side} ${side}`}
      width={220}
      height={220}
      role="img"
      aria-label="QR code of the secret"
    >
      <rect width={side} height={side} fill="#fff" />
      <path d={dark} fill="#000" shape-rendering="crispEdges" />
    </svg>
  );
}
