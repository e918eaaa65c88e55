import {
  chmod,
  mkdir,
  readdir,
  readFile,
  stat,
  writeFile,
} from 'node:fs/promises';
import { join } from 'node:path';
import { Client } from '@temporalio/client';
import pg from 'pg';
import { request } from 'undici';
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { readConnection } from '../../src/local-stack/connection-file.ts';
import { describeInChromium, launchChromium } from '../support/chromium.ts';
import type { TestStack } from '../support/stack.ts';

/**
 * How the UI shows a payload that it cannot have decoded: its bytes in base64.
 */
const ENCRYPTED = /"[\w+/]{80,}=*"/;
const CANARY = 'canary-of-the-operator';

/**
 * Another user of this machine reaches every port on loopback and reads every
 * process's arguments.
 */
export const describeNeighbours = (startedIn: () => TestStack) =>
  describe('keeps its neighbours out', () => {
    let stack: TestStack;
    let ui: string;
    beforeAll(async () => {
      stack = startedIn();
      ui = stack.connection.temporalUiUrl ?? '';
      await stack.temporal.workflow.start('nobody', {
        workflowId: 'canary',
        taskQueue: 'nobody',
        args: [{ canary: CANARY }],
      });
    });

    /** The cookie that the current one-time link gives. */
    async function openUi(): Promise<string> {
      const { temporalUiLink = '' } = await readConnection(stack.dataDir);
      const answer = await request(temporalUiLink);
      await answer.body.dump();
      expect(answer.statusCode).toBe(200);
      return String(answer.headers['set-cookie']).split(';')[0] ?? '';
    }

    test('no secret stands in the arguments of a process', async () => {
      const password = new URL(stack.connection.databaseUrl).password;
      const { dataKeys, ...others } = stack.secrets;
      const { temporalUiLink = '' } = await readConnection(stack.dataDir);
      const secrets = [
        ...Object.values(others),
        dataKeys.split(':')[1] ?? '',
        password,
        temporalUiLink,
      ];
      const pids = (await readdir('/proc')).filter((name) =>
        /^\d+$/.test(name),
      );
      const lines = await Promise.all(
        pids.map((pid) =>
          readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => ''),
        ),
      );
      const ours = lines.filter((line) => line.includes(stack.dataDir));
      expect(ours.length).toBeGreaterThan(5);
      for (const line of ours)
        expect(secrets.filter((secret) => line.includes(secret))).toEqual([]);
    });

    test('a data folder that was too open is its owner’s alone after a start, also what the processes write', async () => {
      const entries = await readdir(stack.dataDir, {
        recursive: true,
        withFileTypes: true,
      });
      const paths = entries.map(({ parentPath, name }) =>
        join(parentPath, name),
      );
      const open = await Promise.all(
        [stack.dataDir, ...paths].map(async (path) => {
          const mode = (await stat(path).catch(() => undefined))?.mode ?? 0;
          return (mode & 0o077) === 0
            ? []
            : [`${path} ${(mode & 0o777).toString(8)}`];
        }),
      );
      expect(open.flat()).toEqual([]);
      for (const name of [
        'connection.json',
        'secrets.json',
        'temporal/temporal.db',
        'blobs/old/old',
      ])
        expect(paths).toContain(join(stack.dataDir, name));
    });

    test('a stranger gets neither the UI nor a payload decoded', async () => {
      for (const path of [
        '/',
        '/api/v1/settings',
        '/api/v1/namespaces',
        '/open/guessed',
        '/codec/decode',
      ]) {
        const answer = await request(`${ui}${path}`);
        expect(answer.statusCode, path).toBeGreaterThanOrEqual(401);
        expect(await answer.body.text(), path).not.toMatch(
          /codec|namespaceInfo/i,
        );
      }
      expect((await decode({})).status).toBe(401);
      expect((await decode({ authorization: 'Bearer guessed' })).status).toBe(
        401,
      );
    });

    test('Temporal’s own web server names no place where payloads are decoded', async () => {
      const { temporalWeb } = JSON.parse(
        await readFile(join(stack.dataDir, 'ports.json'), 'utf8'),
      );
      const answer = await request(
        `http://127.0.0.1:${temporalWeb}/api/v1/settings`,
      );
      expect(answer.statusCode).toBe(200);
      const settings = (await answer.body.json()) as {
        Codec?: { Endpoint?: string };
      };
      expect(settings.Codec?.Endpoint ?? '').toBe('');
    });

    test('the operator’s link works once, and the next one is in connection.json', async () => {
      const before = (await readConnection(stack.dataDir)).temporalUiLink ?? '';
      const cookie = await openUi();
      const again = await request(before);
      expect(again.statusCode).toBe(403);
      await again.body.dump();
      expect((await readConnection(stack.dataDir)).temporalUiLink).not.toBe(
        before,
      );

      const settings = await request(`${ui}/api/v1/settings`, {
        headers: { cookie },
      });
      expect(await settings.body.json()).toMatchObject({
        Codec: { Endpoint: `${ui}/codec` },
      });
      expect(await decode({ cookie })).toEqual({
        status: 200,
        text: expect.stringContaining(CANARY),
      });
      const namespaces = await request(`${ui}/api/v1/namespaces`, {
        headers: { cookie },
      });
      expect(namespaces.statusCode).toBe(200);
      await namespaces.body.dump();
    });

    test('the token of connection.json decodes for the Temporal CLI, and does nothing else', async () => {
      const authorization = `Bearer ${stack.connection.codecToken}`;
      expect((await decode({ authorization })).text).toContain(CANARY);
      const answer = await request(`${ui}/api/v1/namespaces`, {
        headers: { authorization },
      });
      expect(answer.statusCode).toBe(401);
      await answer.body.dump();
    });

    test('a page of another origin, or one whose name was made to lead here, gets nothing with the cookie', async () => {
      const cookie = await openUi();
      expect(
        (await decode({ cookie, origin: 'http://127.0.0.1:1' })).status,
      ).toBe(403);
      expect((await decode({ cookie, host: 'evil.example' })).status).toBe(421);
    });

    test('the simulator is steered with the token only', async () => {
      const { simulatorUrl, simulatorAdminToken } = stack.connection;
      for (const headers of [{}, { authorization: 'Bearer guessed' }]) {
        const answer = await request(`${simulatorUrl}/admin/requests`, {
          headers,
        });
        expect(answer.statusCode).toBe(401);
        await answer.body.dump();
      }
      const authorization = `Bearer ${simulatorAdminToken}`;
      const answer = await request(`${simulatorUrl}/admin/requests`, {
        headers: { authorization },
      });
      expect(answer.statusCode).toBe(200);
      await answer.body.dump();
    });

    test('PostgreSQL refuses connections without its password', async () => {
      const address = new URL(stack.connection.databaseUrl);
      for (const password of ['', 'postgres']) {
        address.password = password;
        await expect(connectTo(address.href)).rejects.toThrow(/password/i);
      }
    });

    describeInChromium('in a browser', () => {
      /**
       * The page of a workflow, when it shows `text`, as seen after `first` was
       * opened.
       */
      async function pageOfWorkflow(
        first: string,
        text: RegExp,
      ): Promise<string> {
        const browser = await launchChromium();
        onTestFinished(() => browser.close());
        const page = await browser.newPage();
        await page.goto(first);
        await page.goto(
          `${new URL(first).origin}/namespaces/default/workflows/canary`,
        );
        await page.getByText(text).first().waitFor({ timeout: 240_000 });
        return page.locator('body').innerText();
      }

      test('the operator who opened the link reads payloads in clear', async () => {
        const { temporalUiLink = '' } = await readConnection(stack.dataDir);
        const text = await pageOfWorkflow(temporalUiLink, new RegExp(CANARY));
        expect(text).not.toMatch(ENCRYPTED);
      });

      test('a stranger sees only a note at the operator’s port, and at Temporal’s own only what is encrypted', async () => {
        expect(await pageOfWorkflow(`${ui}/`, /npm start/)).not.toContain(
          'Workflow',
        );
        const { temporalWeb } = JSON.parse(
          await readFile(join(stack.dataDir, 'ports.json'), 'utf8'),
        );
        const behind = await pageOfWorkflow(
          `http://127.0.0.1:${temporalWeb}/`,
          ENCRYPTED,
        );
        expect(behind).not.toContain(CANARY);
      });
    });

    async function decode(
      headers: Record<string, string>,
    ): Promise<{ status: number; text: string }> {
      const payload = await encrypted();
      const answer = await request(`${ui}/codec/decode`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...headers },
        body: JSON.stringify({ payloads: [payload] }),
      });
      const text = await answer.body.text();
      if (answer.statusCode !== 200) return { status: answer.statusCode, text };
      const { payloads } = JSON.parse(text) as { payloads: { data: string }[] };
      return {
        status: 200,
        text: payloads
          .map(({ data }) => Buffer.from(data, 'base64').toString())
          .join(),
      };
    }

    /** As anybody reads it from Temporal's own port. */
    async function encrypted() {
      const plain = new Client({
        connection: stack.temporal.connection,
        namespace: 'default',
      });
      const { history } =
        await plain.workflowService.getWorkflowExecutionHistory({
          namespace: 'default',
          execution: { workflowId: 'canary' },
        });
      const [payload] =
        history?.events?.[0]?.workflowExecutionStartedEventAttributes?.input
          ?.payloads ?? [];
      expect(Buffer.from(payload?.data ?? []).toString()).not.toContain(CANARY);
      const metadata = Object.entries(payload?.metadata ?? {}).map(
        ([key, bytes]) => [key, base64(bytes)],
      );
      return {
        metadata: Object.fromEntries(metadata),
        data: base64(payload?.data),
      };
    }
  });

const base64 = (bytes: Uint8Array | null | undefined) =>
  Buffer.from(bytes ?? []).toString('base64');

async function connectTo(connectionString: string): Promise<void> {
  const client = new pg.Client({ connectionString });
  await client.connect().finally(() => client.end().catch(() => undefined));
}

/** As an older version, or a careless copy, leaves a data folder. */
export async function makeTooOpen(dataDir: string): Promise<void> {
  await mkdir(join(dataDir, 'blobs', 'old'), { recursive: true });
  await mkdir(join(dataDir, 'logs'));
  for (const name of ['connection.json', 'logs/gateway.log', 'blobs/old/old'])
    await writeFile(join(dataDir, name), '{}', { mode: 0o644 });
  for (const name of ['', 'blobs', 'blobs/old', 'logs'])
    await chmod(join(dataDir, name), 0o755);
}
