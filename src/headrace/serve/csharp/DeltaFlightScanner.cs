using System;
using System.Collections.Generic;
using System.IO;
using System.Net;
using System.Text;
using System.Threading;
using System.Threading.Tasks;

namespace Headrace
{
    /// <summary>Scans tables of a Headrace server over HTTP.</summary>
    public sealed class DeltaFlightScanner : ILazyDeltaScanner
    {
        private readonly Uri files;
        private readonly string token;
        private readonly CancellationTokenSource disposed = new CancellationTokenSource();

        /// <summary>Creates a scanner for a server such as http://delta-server:50051, with an optional token.</summary>
        public DeltaFlightScanner(string address, string token = null)
        {
            files = new Uri(new Uri(address.TrimEnd('/') + "/"), "v1/files");
            this.token = token;
        }

        /// <inheritdoc/>
        public IAsyncEnumerable<DeltaFile> ScanFilesAsync(
            string tablePath,
            ScanOptions options = null,
            CancellationToken cancellationToken = default(CancellationToken))
        {
            var body = (options ?? new ScanOptions()).ToRequest(tablePath);
            return new FileStream(() => new HttpSource(files, token, body), disposed.Token, cancellationToken);
        }

        /// <summary>Stops all scans.</summary>
        public void Dispose()
        {
            disposed.Cancel();
        }

        /// <summary>Stops all scans.</summary>
        public ValueTask DisposeAsync()
        {
            Dispose();
            return default(ValueTask);
        }

        private sealed class HttpSource : IFileSource
        {
            private readonly HttpWebRequest request;
            private readonly byte[] body;
            private readonly CancellationTokenSource cancelled = new CancellationTokenSource();

            internal HttpSource(Uri address, string token, string body)
            {
#pragma warning disable SYSLIB0014 // available in every framework, and can be aborted
                request = (HttpWebRequest)WebRequest.Create(address);
#pragma warning restore SYSLIB0014
                request.Method = "POST";
                request.ContentType = "application/json";
                request.Accept = "application/x-ndjson";
                request.AllowReadStreamBuffering = false;
                request.KeepAlive = false;
                request.Proxy = null;
                request.Timeout = Timeout.Infinite;
                request.ReadWriteTimeout = Timeout.Infinite;
                request.ServicePoint.ConnectionLimit = 1000;
                if (token != null)
                {
                    request.Headers["Authorization"] = "Bearer " + token;
                }

                this.body = Encoding.UTF8.GetBytes(body);
            }

            public void Cancel()
            {
                request.Abort();
                cancelled.Cancel(); // ends a blocked read, which closes the connection
            }

            public void Run(Func<DeltaFile, bool> take)
            {
                request.ContentLength = body.Length;
                using (var sending = request.GetRequestStream())
                {
                    sending.Write(body, 0, body.Length);
                }

                using (var response = Respond())
                using (var content = response.GetResponseStream())
                {
                    var lines = new LineReader(content, cancelled.Token);
                    for (var line = lines.Read(); line != null; line = lines.Read())
                    {
                        var record = (Dictionary<string, object>)JsonText.Parse(line);
                        if (record.ContainsKey("$outcome"))
                        {
                            return;
                        }

                        if (record.TryGetValue("$error", out var refused))
                        {
                            throw Refused((Dictionary<string, object>)refused);
                        }

                        if (!take(ToFile(record)))
                        {
                            Cancel();
                            return;
                        }
                    }
                }

                throw new DeltaScanException("STREAM_INCOMPLETE", "the answer ended without its outcome");
            }

            private static DeltaFile ToFile(Dictionary<string, object> record)
            {
                var values = new Dictionary<string, string>();
                foreach (var value in (Dictionary<string, object>)record["partition_values"])
                {
                    values[value.Key] = (string)value.Value;
                }

                return new DeltaFile(
                    (string)record["uri"],
                    (long)record["size_bytes"],
                    values,
                    DeltaFile.FromMilliseconds((long)record["modified_ms"]));
            }

            private static DeltaScanException Refused(Dictionary<string, object> refused)
            {
                return new DeltaScanException((string)refused["code"], (string)refused["message"]);
            }

            private WebResponse Respond()
            {
                try
                {
                    return request.GetResponse();
                }
                catch (WebException error) when (error.Response != null)
                {
                    using (var text = new StreamReader(error.Response.GetResponseStream()))
                    {
                        var reply = (Dictionary<string, object>)JsonText.Parse(text.ReadToEnd());
                        throw Refused((Dictionary<string, object>)reply["error"]);
                    }
                }
            }
        }
    }

    /// <summary>Reads lines of UTF-8, until it is cancelled.</summary>
    internal sealed class LineReader
    {
        private static readonly bool IsMono = Type.GetType("Mono.Runtime") != null;

        private readonly Stream content;
        private readonly CancellationToken token;
        private readonly MemoryStream line = new MemoryStream();
        private readonly byte[] buffer = new byte[64 * 1024];
        private int start;
        private int end;

        internal LineReader(Stream content, CancellationToken token)
        {
            this.content = content;
            this.token = token;
        }

        /// <summary>Returns the next line, or null at the end.</summary>
        internal string Read()
        {
            line.SetLength(0);
            while (true)
            {
                if (start == end)
                {
                    start = 0;
                    end = Receive();
                    if (end == 0)
                    {
                        return line.Length == 0 ? null : Text();
                    }
                }

                var stop = Array.IndexOf(buffer, (byte)'\n', start, end - start);
                line.Write(buffer, start, (stop < 0 ? end : stop) - start);
                start = stop < 0 ? end : stop + 1;
                if (stop >= 0)
                {
                    return Text();
                }
            }
        }

        private int Receive()
        {
            // On Mono, aborting the request ends a read; elsewhere only a token ends it at once.
            return IsMono
                ? content.Read(buffer, 0, buffer.Length)
                : content.ReadAsync(buffer, 0, buffer.Length, token).GetAwaiter().GetResult();
        }

        private string Text()
        {
            return new UTF8Encoding(false, true).GetString(line.GetBuffer(), 0, (int)line.Length);
        }
    }
}
