import { appendFile, mkdir, readFile } from 'node:fs/promises';
import { dirname } from 'node:path';

/** One line of the log of received webhooks: ids only. */
export interface MessageLogEntry {
  at: string;
  messageId: string;
  type: string;
  requestId?: string;
  /** The same message was received before. */
  repeat: boolean;
  /** A workflow received a signal for it. */
  signalled: boolean;
}

/**
 * How many message ids are remembered: far more than arrive while a sender
 * repeats one message.
 */
const REMEMBERED_MAX = 200_000;

/** Remembers the received messages; across restarts, if it has a file. */
export class MessageLog {
  /** The last write; lines are written one after the other. */
  #lastWrite: Promise<void> = Promise.resolve();

  private readonly path: string | undefined;
  private readonly seen: Set<string>;

  private constructor(path: string | undefined, seen: Set<string>) {
    this.path = path;
    this.seen = seen;
  }

  static async open(path: string | undefined): Promise<MessageLog> {
    if (path === undefined) return new MessageLog(undefined, new Set());
    await mkdir(dirname(path), { recursive: true });
    const text = await readFile(path, 'utf8').catch(
      (error: NodeJS.ErrnoException) => {
        if (error.code === 'ENOENT') return '';
        throw error;
      },
    );
    // A crash may have left an incomplete line: start the next entry on a new
    // one.
    if (text !== '' && !text.endsWith('\n')) await appendFile(path, '\n');
    return new MessageLog(
      path,
      new Set(text.split('\n').flatMap(messageIdOf).slice(-REMEMBERED_MAX)),
    );
  }

  has(messageId: string): boolean {
    return this.seen.has(messageId);
  }

  /** Resolves when the line is in the file. */
  async note(entry: MessageLogEntry): Promise<void> {
    const line = `${JSON.stringify(entry)}\n`;
    const { path } = this;
    if (path !== undefined) {
      this.#lastWrite = this.#lastWrite
        .catch(() => undefined)
        .then(() => appendFile(path, line));
      await this.#lastWrite;
    }
    this.seen.add(entry.messageId);
    const [oldest] = this.seen;
    if (this.seen.size > REMEMBERED_MAX && oldest !== undefined)
      this.seen.delete(oldest);
  }
}

function messageIdOf(line: string): string[] {
  try {
    const { messageId } = JSON.parse(line) as Partial<MessageLogEntry>;
    return typeof messageId === 'string' ? [messageId] : [];
  } catch {
    return [];
  }
}
