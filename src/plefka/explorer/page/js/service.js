// Questions to the service, and what happens when it does not answer.

import { read, write } from "./storage.js";

const BASE = "api/v1/";
const TOKEN = "plefka-token";
const LONGEST_WAIT = 8; // seconds between two tries

export class Refused extends Error {
	constructor(status, code, message) {
		super(message);
		Object.assign(this, { status, code });
	}
}

export class Unreachable extends Error {}

export class Service extends EventTarget {
	constructor(askForToken) {
		super();
		this.askForToken = askForToken;
		this.token = read(TOKEN, "sessionStorage");
		this.network = new URLSearchParams(location.search).get("network"); // the key of an opened one, or null
		this.isDown = false;
		this.entering = null;
	}

	useToken(token) {
		this.token = token;
		write(TOKEN, token, "sessionStorage");
	}

	get(path, parameters = {}, signal = undefined) {
		return this.#ask(path, { signal }, parameters);
	}

	post(path, body, signal = undefined) {
		const headers = { "Content-Type": "application/json" };
		return this.#ask(path, { method: "POST", body: JSON.stringify(body), headers, signal });
	}

	async #ask(path, options, parameters = {}) {
		const sent = this.token;
		const about = this.network ? { network: this.network } : {};
		const query = new URLSearchParams({ ...parameters, ...about }).toString();
		const response = await this.#fetch(path + (query && `?${query}`), options);
		if (response.status === 401) {
			await this.#newToken(sent);
			return this.#ask(path, options, parameters);
		}
		if (response.ok) return response.json();
		const error = await refusal(response);
		if (error.code === "unknown_network") this.dispatchEvent(new Event("forgotten"));
		throw error;
	}

	async #fetch(path, options) {
		const headers = { ...options.headers };
		if (this.token) headers.Authorization = `Bearer ${this.token}`;
		try {
			return await fetch(BASE + path, { ...options, headers });
		} catch (error) {
			if (options.signal?.aborted) throw error;
			this.#lost();
			throw new Unreachable("The service does not answer.");
		}
	}

	// Several questions may be refused at once: the token is asked for once.
	async #newToken(sent) {
		if (this.token !== sent) return;
		this.entering ??= this.askForToken(sent !== null).finally(() => {
			this.entering = null;
		});
		this.useToken(await this.entering);
	}

	#lost() {
		if (this.isDown) return;
		this.isDown = true;
		this.tries = 0;
		this.#plan();
	}

	#plan() {
		this.wait = Math.min(LONGEST_WAIT, 2 ** this.tries);
		this.dispatchEvent(new Event("lost"));
		clearTimeout(this.timer);
		this.timer = setTimeout(() => this.tryAgain(), 1000 * this.wait);
	}

	async tryAgain() {
		clearTimeout(this.timer);
		const isThere = await fetch(`${BASE}health`, { cache: "no-store" }).then(
			(answer) => answer.ok,
			() => false,
		);
		if (!this.isDown) return;
		if (isThere) {
			this.isDown = false;
			this.dispatchEvent(new Event("recovered"));
		} else {
			this.tries += 1;
			this.#plan();
		}
	}
}

async function refusal(response) {
	const content = await response.json().catch(() => null);
	const { code = "", message = "" } = content?.error ?? {};
	const otherwise = `The service answered ${response.status} without an explanation.`;
	return new Refused(response.status, code, message || otherwise);
}

// The newest of many questions: older ones are aborted, and their answers dropped.
export const STALE = Symbol("stale");

export function latest(ask) {
	let current = null;
	const newest = async (...values) => {
		current?.abort();
		const mine = new AbortController();
		current = mine;
		try {
			const answer = await ask(mine.signal, ...values);
			return mine.signal.aborted ? STALE : answer;
		} catch (error) {
			if (mine.signal.aborted) return STALE;
			throw error;
		}
	};
	newest.cancel = () => current?.abort();
	return newest;
}
