// The page of a program that shows MCP Apps, with the host of the extension's own SDK. test/support/app-host.ts bundles it.
import { AppBridge, PostMessageTransport } from '@modelcontextprotocol/ext-apps/app-bridge';

/** Loads a view into a sandbox. Resolves when the view has been initialized. */
window.openView = async (address, hostContext) => {
  const frame = document.createElement('iframe');
  frame.name = 'view';
  frame.sandbox = 'allow-scripts';
  frame.style.cssText = 'border: 0; width: 100%; height: 60px';
  document.body.replaceChildren(frame);
  applyTheme(hostContext);
  const bridge = new AppBridge(null, { name: 'test-host', version: '1.0.0' }, {}, { hostContext });
  window.sizes = [];
  bridge.addEventListener('sizechange', ({ height }) => {
    window.sizes.push(height);
    const { containerDimensions: { height: fixed } = {} } = hostContext;
    frame.style.height = `${fixed ?? height}px`;
  });
  const initialized = new Promise((done) => bridge.addEventListener('initialized', done));
  await bridge.connect(new PostMessageTransport(frame.contentWindow, frame.contentWindow));
  frame.src = address;
  await initialized;
  window.bridge = bridge;
};

window.changeContext = (hostContext) => {
  applyTheme(hostContext);
  return window.bridge.sendHostContextChange(hostContext);
};

function applyTheme({ theme }) {
  document.documentElement.style.colorScheme = theme;
  document.body.style.cssText = `margin: 0; background: ${theme === 'dark' ? '#101010' : '#fafafa'}`;
}
