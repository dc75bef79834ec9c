// Questions to the service, and what the reader sees of it: that it is gone and comes back, and that it wants a token.

import { announce, byId, put, told } from "./elements.js";
import { read, write } from "./storage.js";
import { counted, sentence } from "./words.js";

const BASE = "api/v1/";
const TOKEN = "plefka-token";
const LONGEST_WAIT = 8; // seconds between two tries

export class Service {
	constructor() {
		this.token = read(TOKEN, "sessionStorage");
		this.network = new URLSearchParams(location.search).get("network"); // the key of an opened one, or null
		this.isDown = false;
	}

	// What else happens when it answers again, and when it has this network no more.
	onRecovered() {}
	onForgotten() {}

	useToken(token) {
		this.token = token;
		write(TOKEN, token, "sessionStorage");
	}

	post(path, body, signal) {
		const headers = { "Content-Type": "application/json" };
		return this.get(path, { method: "POST", body: JSON.stringify(body), headers, signal });
	}

	// options: as fetch has them
	async get(path, options = {}) {
		const { token, network } = this;
		const query = network ? `?${new URLSearchParams({ network })}` : "";
		const headers = { ...options.headers, ...(token && { Authorization: `Bearer ${token}` }) };
		const response = await fetch(BASE + path + query, { ...options, headers }).catch((error) => {
			if (options.signal?.aborted) throw error;
			if (!this.isDown) this.#recover();
			throw refusal("unreachable", "The service does not answer.");
		});
		if (response.ok) return response.json();
		if (response.status === 401) {
			await this.#newToken(token);
			return this.get(path, options);
		}
		const { status } = response;
		const { code = "", message } = (await response.json().catch(() => null))?.error ?? {};
		if (code === "unknown_network") this.onForgotten();
		throw refusal(code, sentence(message) || told("unexplained", status), status);
	}

	// Several questions may be refused at once: the token is asked for once.
	async #newToken(refused) {
		if (this.token !== refused) return;
		this.entering ??= enteredToken(refused !== null).finally(() => {
			this.entering = null;
		});
		this.useToken(await this.entering);
	}

	async #recover() {
		this.isDown = true;
		for (let seconds = 1; this.isDown; seconds = Math.min(2 * seconds, LONGEST_WAIT)) {
			put("connection-wait", counted(seconds, "second"));
			byId("connection").hidden = false;
			await new Promise((resolve) => {
				byId("connection-retry").onclick = resolve;
				setTimeout(resolve, 1000 * seconds);
			});
			const answer = await fetch(`${BASE}health`, { cache: "no-store" }).catch(() => null);
			this.isDown = !answer?.ok;
		}
		byId("connection").hidden = true;
		announce("The service answers again.");
		this.onRecovered();
	}
}

const refusal = (code, message, status) => Object.assign(new Error(message), { code, status });

function enteredToken(wasRefused) {
	const dialog = byId("token-dialog");
	if (wasRefused) put("token-text", told("token-refused"));
	dialog.oncancel = (event) => event.preventDefault();
	dialog.showModal();
	return new Promise((resolve) => {
		dialog.onclose = () => {
			resolve(byId("token").value.trim());
			byId("token").value = "";
		};
	});
}

// The newest of many questions: older ones are aborted, and their answers never come.
export function latest(ask) {
	let current = null;
	const newest = (...values) => {
		current?.abort();
		current = new AbortController();
		const { signal } = current;
		return new Promise((resolve, reject) => {
			ask(signal, ...values).then(
				(answer) => signal.aborted || resolve(answer),
				(error) => signal.aborted || reject(error),
			);
		});
	};
	newest.cancel = () => current?.abort();
	return newest;
}
