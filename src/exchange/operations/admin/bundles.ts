import { readFile } from 'node:fs/promises';
import { readCertificates } from '#direct';
import { bundleNameSchema } from '../../messaging/messages/direct/mailbox-settings.ts';
import {
  accountsThatTrust,
  deleteBundle,
  findBundle,
  listBundles,
  putBundle,
  type StoredBundle,
} from '../../messaging/messages/direct/trust-bundles/bundle-store.ts';
import {
  endBundle,
  scheduleBundle,
} from '../../messaging/messages/direct/trust-bundles/refresh-schedule.ts';
import { shownOrigin } from '../../sources/directory/read-origin.ts';
import { auditEverywhere } from './accounts.ts';
import {
  type AdminCommand,
  AdminError,
  type AdminTarget,
  shortTime,
} from './command.ts';
import { originAddress, withTemporal } from './directories.ts';

interface BundleOptions {
  from: string;
  everyHours: number;
  signedBy?: string;
}

/** `bundles add`: by a Temporal Schedule, from now on. */
export const addBundleCommand: AdminCommand<
  [string, BundleOptions],
  'store' | 'openTemporal'
> = async (
  { store, openTemporal },
  name,
  { from, everyHours: refreshHours, signedBy: signerFile },
) => {
  const problem = bundleNameSchema.safeParse(name).error?.issues[0]?.message;
  if (problem !== undefined)
    throw new AdminError(`The name of a bundle ${problem}`);
  const origin = await originAddress(from);
  const signedBy = await signersIn(signerFile);
  if (signedBy === null && origin.startsWith('http:'))
    throw new AdminError(
      'Whoever is on the way could change a bundle that comes by http: give an https address, or --signed-by',
    );
  await store.asSystem(async (tx) => {
    await putBundle(tx, { name, origin, refreshHours, signedBy });
    await auditEverywhere(tx, 'addTrustBundle', name);
  });
  await withTemporal(openTemporal, 'the bundle', (client) =>
    scheduleBundle(client, name, refreshHours),
  );
  return {
    document: { bundle: name, origin: shownOrigin(origin), refreshHours },
    lines: [
      `The trust bundle ${name} is read from ${shownOrigin(origin)} now, and every ${refreshHours} hours.`,
      `Follow it with: npm run admin -- bundles show ${name}`,
    ],
  };
};

/** `bundles refresh`: a run of the workflow, now. */
export const refreshBundleCommand: AdminCommand<
  [string],
  'store' | 'openTemporal'
> = async ({ store, openTemporal }, name) => {
  const { refreshHours } = await required(store, name);
  await withTemporal(openTemporal, 'the bundle', (client) =>
    scheduleBundle(client, name, refreshHours),
  );
  return {
    document: { bundle: name },
    lines: [
      `The trust bundle ${name} is read now.`,
      `Follow it with: npm run admin -- bundles show ${name}`,
    ],
  };
};

/** `bundles list`: when each was read, and why not. */
export const listBundlesCommand: AdminCommand = async ({ store }) => {
  const bundles = await store.asSystem(listBundles);
  return {
    document: { bundles: bundles.map(shown) },
    table: {
      head: ['bundle', 'anchors', 'read', 'looked at', 'fault'],
      rows: bundles.map(({ name, counts, loadedAt, checkedAt, fault }) => [
        name,
        String(counts?.anchors ?? '–'),
        shortTime(loadedAt),
        shortTime(checkedAt),
        fault ?? '–',
      ]),
    },
  };
};

/** `bundles show`: its anchors, and what was refused. */
export const showBundleCommand: AdminCommand<[string]> = async (
  { store },
  name,
) => {
  const bundle = await required(store, name);
  const accounts = await store.asSystem((tx) => accountsThatTrust(tx, name));
  const anchors = readCertificates(bundle.anchors ?? '').map(
    ({ subject, validToDate, fingerprint256 }) => ({
      subject: subject.replaceAll('\n', ', '),
      validUntil: validToDate.toISOString().slice(0, 10),
      sha256: fingerprint256.replaceAll(':', '').toLowerCase(),
    }),
  );
  const { counts, refused, fault, loadedAt, checkedAt } = bundle;
  return {
    document: { ...shown(bundle), anchors, accounts },
    table: {
      head: ['anchor', 'valid until', 'SHA-256'],
      rows: anchors.map(({ subject, validUntil, sha256 }) => [
        subject,
        validUntil,
        sha256.slice(0, 16),
      ]),
    },
    lines: [
      `${name}: read ${shortTime(loadedAt)}, looked at ${shortTime(checkedAt)}${fault === null ? '' : `: ${fault}; the anchors of before are used`}`,
      ...(counts === null
        ? []
        : [
            `${counts.read} certificates read, ${counts.added} added, ${counts.removed} removed, ${counts.refused} refused`,
          ]),
      ...refused.map(
        ({ subject, reason }) => `refused: ${subject ?? 'one'} ${reason}`,
      ),
      `Trusted by ${accounts.length === 0 ? 'no account' : accounts.join(', ')}`,
    ],
  };
};

/** `bundles delete`. */
export const deleteBundleCommand: AdminCommand<
  [string],
  'store' | 'openTemporal'
> = async ({ store, openTemporal }, name) => {
  await required(store, name);
  const accounts = await store.asSystem((tx) => accountsThatTrust(tx, name));
  if (accounts.length > 0)
    throw new AdminError(
      `The mailboxes of ${accounts.join(', ')} name the bundle; change them before: npm run admin -- direct connect`,
    );
  await withTemporal(openTemporal, 'the bundle', (client) =>
    endBundle(client, name),
  );
  await store.asSystem(async (tx) => {
    await deleteBundle(tx, name);
    await auditEverywhere(tx, 'deleteTrustBundle', name);
  });
  return {
    document: { bundle: name },
    lines: [`The trust bundle ${name} is deleted.`],
  };
};

const shown = ({ origin, anchors: _, signedBy, ...bundle }: StoredBundle) => ({
  ...bundle,
  origin: shownOrigin(origin),
  isSigned: signedBy !== null,
});

async function required(
  store: AdminTarget['store'],
  name: string,
): Promise<StoredBundle> {
  const found = await store.asSystem((tx) => findBundle(tx, name));
  if (found !== undefined) return found;
  throw new AdminError(
    `There is no trust bundle ${name}; list them with: npm run admin -- bundles list`,
  );
}

async function signersIn(path: string | undefined): Promise<string | null> {
  if (path === undefined) return null;
  const content = await readFile(path, 'utf8').catch(() => '');
  if (areCertificates(content)) return content;
  throw new AdminError(
    `--signed-by: ${path} cannot be read, or has no certificates in PEM`,
  );
}

function areCertificates(pem: string): boolean {
  try {
    return readCertificates(pem).length > 0;
  } catch {
    return false;
  }
}
