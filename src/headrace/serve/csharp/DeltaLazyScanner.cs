using System;
using System.Collections.Generic;
using System.Runtime.InteropServices;
using System.Text;
using System.Threading;
using System.Threading.Tasks;

namespace Headrace
{
    /// <summary>Scans tables in this process, through the C library.</summary>
    public sealed class DeltaLazyScanner : ILazyDeltaScanner
    {
        private readonly CancellationTokenSource disposed = new CancellationTokenSource();

        /// <inheritdoc/>
        public IAsyncEnumerable<DeltaFile> ScanFilesAsync(
            string tablePath,
            ScanOptions options = null,
            CancellationToken cancellationToken = default(CancellationToken))
        {
            var request = (options ?? new ScanOptions()).ToRequest(tablePath);
            return new FileStream(() => new NativeSource(request), disposed.Token, cancellationToken);
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

        private sealed class NativeSource : IFileSource
        {
            private readonly string request;
            private readonly object guard = new object();
            private IntPtr cancellation;
            private bool cancelled;

            internal NativeSource(string request)
            {
                this.request = request;
            }

            public void Cancel()
            {
                lock (guard)
                {
                    cancelled = true;
                    Native.headrace_cancellation_request(cancellation);
                }
            }

            public void Run(Func<DeltaFile, bool> take)
            {
                Native.RecordCallback callback = (file, _) => take(ToFile(file));
                lock (guard)
                {
                    if (cancelled)
                    {
                        return;
                    }

                    cancellation = Native.headrace_cancellation_new();
                }

                var status = Native.headrace_scan(Native.Utf8(request), callback, IntPtr.Zero, cancellation);
                GC.KeepAlive(callback);
                var error = status < 0 ? Native.LastError() : null;
                lock (guard)
                {
                    Native.headrace_cancellation_free(cancellation);
                    cancellation = IntPtr.Zero;
                }

                if (error != null)
                {
                    throw DeltaScanException.Parse(error);
                }
            }

            private static DeltaFile ToFile(IntPtr file)
            {
                var values = new Dictionary<string, string>();
                var text = Native.Text(Marshal.ReadIntPtr(file, 24));
                foreach (var value in (Dictionary<string, object>)JsonText.Parse(text))
                {
                    values[value.Key] = (string)value.Value;
                }

                return new DeltaFile(
                    Native.Text(Marshal.ReadIntPtr(file, 0)),
                    Marshal.ReadInt64(file, 8),
                    values,
                    DeltaFile.FromMilliseconds(Marshal.ReadInt64(file, 16)));
            }
        }
    }

    /// <summary>Lists the files of a table in one call.</summary>
    public class DeltaLazyConnector
    {
        /// <summary>Returns the paths of a table's live files.</summary>
        /// <param name="tablePath">The path or URI of the table.</param>
        /// <param name="predicate">A predicate in JSON, or null.</param>
        /// <param name="limit">The maximum number of files; null means all.</param>
        public IEnumerable<string> GetFiles(string tablePath, string predicate, int? limit)
        {
            var files = new List<string>();
            Native.FileCallback callback = (path, size) =>
            {
                files.Add(Native.Text(path));
                return true;
            };
            var status = Native.delta_scan_lazy(
                Native.Utf8(tablePath),
                predicate == null ? null : Native.Utf8(predicate),
                (UIntPtr)(ulong)(limit ?? 0),
                callback);
            GC.KeepAlive(callback);
            return status < 0 ? throw DeltaScanException.Parse(Native.LastError()) : files;
        }
    }

    /// <summary>The C library; headrace.h describes it.</summary>
    internal static class Native
    {
        private const string Library = "delta_lazy";

        [UnmanagedFunctionPointer(CallingConvention.Cdecl)]
        [return: MarshalAs(UnmanagedType.I1)]
        internal delegate bool FileCallback(IntPtr path, long size);

        [UnmanagedFunctionPointer(CallingConvention.Cdecl)]
        [return: MarshalAs(UnmanagedType.I1)]
        internal delegate bool RecordCallback(IntPtr file, IntPtr userData);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int delta_scan_lazy(
            byte[] tablePath, byte[] predicateJson, UIntPtr limit, FileCallback callback);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int headrace_scan(
            byte[] requestJson, RecordCallback callback, IntPtr userData, IntPtr cancellation);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        internal static extern IntPtr headrace_cancellation_new();

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        internal static extern void headrace_cancellation_request(IntPtr cancellation);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        internal static extern void headrace_cancellation_free(IntPtr cancellation);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        private static extern IntPtr headrace_last_error();

        internal static string LastError()
        {
            return Text(headrace_last_error());
        }

        /// <summary>Returns a null-terminated text; refuses one that C would read as another.</summary>
        internal static byte[] Utf8(string text)
        {
            if (text.IndexOf('\0') >= 0)
            {
                throw new DeltaScanException("INVALID_ARGUMENT", "a text contains a null character");
            }

            try
            {
                return new UTF8Encoding(false, true).GetBytes(text + "\0");
            }
            catch (EncoderFallbackException error)
            {
                throw new DeltaScanException("INVALID_ARGUMENT", error.Message);
            }
        }

        internal static string Text(IntPtr pointer)
        {
            var size = 0;
            while (Marshal.ReadByte(pointer, size) != 0)
            {
                size++;
            }

            var bytes = new byte[size];
            Marshal.Copy(pointer, bytes, 0, size);
            return Encoding.UTF8.GetString(bytes);
        }
    }
}
